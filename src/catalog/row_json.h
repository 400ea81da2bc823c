/* JSON documents in rows of the catalog. */
#ifndef ROW_JSON_H
#define ROW_JSON_H

#include <jansson.h>

#include "engine/engine.h"

/* Returns the document of a row; the caller owns the reference. NULL if the row
 * is not JSON or memory ran out. */
json_t *row_json_read(struct kx_slice row);

/* Returns whether Jansson has run out of memory in this thread since the last
 * row_json_read. If so, the document may lack parts. */
bool row_json_starved(void);

/* Returns at most ROW_KEY_MAX bytes as hexadecimal digits in a new JSON string;
 * NULL if memory ran out. */
json_t *row_json_hex(const uint8_t *bytes, size_t size);

/* Reads such a string into out, which holds `size` bytes. Returns the number of
 * bytes; 0 if the string is too long or has other characters. */
size_t row_json_from_hex(const json_t *json, uint8_t *out, size_t size);

#endif
