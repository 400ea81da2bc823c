/* The store's own JSON documents, as rows hold them. */
#ifndef ROW_JSON_H
#define ROW_JSON_H

#include <jansson.h>

#include "bdb/table.h"

/* The document of a row; NULL when it is none, or memory ran out. The caller's
 * reference. */
json_t *row_json_read(struct kx_slice row);

/* Did Jansson lack memory in this thread since row_json_read was called last?
 * Then what it has read, or what was found in that, is not to be believed. */
bool row_json_starved(void);

/* Bytes as hexadecimal digits in a new JSON string; at most ROW_KEY_MAX bytes.
 * NULL when memory ran out. */
json_t *row_json_hex(const uint8_t *bytes, size_t size);

/* Reads such a string into out, which has room for `size` bytes, and returns
 * the number of bytes; 0 if it is no such string or too long. */
size_t row_json_from_hex(const json_t *json, uint8_t *out, size_t size);

#endif
