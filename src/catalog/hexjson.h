/* Keys in the store's own JSON documents: bytes, as hexadecimal digits. */
#ifndef HEXJSON_H
#define HEXJSON_H

#include <jansson.h>

#include "entry/record.h"

/* A new JSON string for at most ROW_KEY_MAX bytes; NULL when memory ran out. */
json_t *hexjson_write(const uint8_t *bytes, size_t size);

/* Reads one into out, which has room for `size` bytes. Returns how many there
 * are; 0 when it is no text or too long. */
size_t hexjson_read(const json_t *json, uint8_t *out, size_t size);

#endif
