/* The store's own JSON documents, as rows hold them. */
#ifndef ROW_JSON_H
#define ROW_JSON_H

#include <jansson.h>

#include "kindex.h"

/* The document of a row; NULL when it is none, or memory ran out. The caller's
 * reference. */
json_t *row_json_read(struct kx_slice row);

/* Did Jansson lack memory in this thread since row_json_read was called last?
 * Then what it has read, or what was found in that, is not to be believed. */
bool row_json_starved(void);

#endif
