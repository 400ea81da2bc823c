/* JSON documents in rows of the catalog. */
#ifndef ROW_JSON_H
#define ROW_JSON_H

#include <jansson.h>

#include "engine/engine.h"

/* The document of a row, a reference of the caller's; NULL if the row is not
 * JSON or memory ran out. */
json_t *row_json_read(struct kx_slice row);

/* Did Jansson run out of memory in this thread since the last row_json_read? If
 * so, the document may lack parts. */
bool row_json_starved(void);

/* Bytes as hexadecimal digits in a new JSON string; at most ROW_KEY_MAX bytes.
 * NULL when memory ran out. */
json_t *row_json_hex(const uint8_t *bytes, size_t size);

/* Reads such a string into out, which has room for `size` bytes, and returns
 * the number of bytes; 0 if it is no such string or too long. */
size_t row_json_from_hex(const json_t *json, uint8_t *out, size_t size);

#endif
