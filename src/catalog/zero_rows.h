/* Indexes that were built when -0 was another value than 0
 * (EXTRACT_SIGNED_ZERO): would the present rules make other rows of the same
 * entries? */
#ifndef ZERO_ROWS_H
#define ZERO_ROWS_H

#include "catalog/catalog.h"

/* Sets *differ_out. It is false only if the rows are the same: no row has -0 in
 * a field of the value, and no condition compares with 0. Large indexes of
 * several fields are not read to the end; for them it is true. KX_OK,
 * KX_NO_MEMORY, errors of the storage. */
enum kx_status zero_rows_differ(const struct catalog *catalog,
                                const struct index *index, bool *differ_out);

#endif
