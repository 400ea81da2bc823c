/* The JSON that an index sees of a stored value, whatever its encoding. */
#ifndef DOCUMENT_H
#define DOCUMENT_H

#include "record.h"

/* Checked JSON text for the value of a record: what fields, conditions and
 * stored members are taken from. It lies in the record, or replaces what is in
 * scratch. KX_OK; KX_ABSENT: the value has no members; KX_NO_MEMORY. */
enum kx_status document_text(const struct record *record,
                             struct kx_buffer *scratch,
                             struct kx_slice *text_out);

#endif
