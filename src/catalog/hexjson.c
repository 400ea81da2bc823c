/* Bytes as hexadecimal digits in JSON strings. */
#include "catalog/hexjson.h"

#include <stdio.h>
#include <stdlib.h>

json_t *hexjson_write(const uint8_t *bytes, size_t size)
{
    char text[2 * ROW_KEY_MAX + 1] = "";
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return json_string(text);
}

size_t hexjson_read(const json_t *json, uint8_t *out, size_t size)
{
    size_t count = json_string_length(json) / 2;
    const char *text = json_string_value(json);
    if (text == NULL || count > size)
        return 0;
    for (size_t i = 0; i < count; i++) {
        char pair[3] = {text[2 * i], text[2 * i + 1], '\0'};
        out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return count;
}
