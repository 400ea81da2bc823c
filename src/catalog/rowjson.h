/* The store's own JSON documents, as rows hold them. */
#ifndef ROWJSON_H
#define ROWJSON_H

#include <jansson.h>

#include "kindex.h"

/* The document of a row; NULL when it is none, or memory ran out. The caller's
 * reference. */
json_t *rowjson_read(struct kx_slice row);

/* Did Jansson lack memory in this thread since rowjson_read was called last?
 * Then what it has read, or what was found in that, is not to be believed. */
bool rowjson_starved(void);

#endif
