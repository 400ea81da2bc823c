/* Where memory runs out in the middle of a text Jansson loses a byte and says
 * nothing, so it gets its memory here, where that is noted. */
#include "catalog/row_json.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local bool starved;
static pthread_once_t noting = PTHREAD_ONCE_INIT;

static void *take_memory(size_t size)
{
    void *block = malloc(size);
    starved |= block == NULL;
    return block;
}

/* For the whole process, before the first document. */
static void note_shortage(void)
{
    json_set_alloc_funcs(take_memory, free);
}

json_t *row_json_read(struct kx_slice row)
{
    pthread_once(&noting, note_shortage);
    starved = false;
    return json_loadb((const char *)row.data, row.size, JSON_ALLOW_NUL, NULL);
}

bool row_json_starved(void)
{
    return starved;
}

json_t *row_json_hex(const uint8_t *bytes, size_t size)
{
    char text[2 * ROW_KEY_MAX + 1] = "";
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return json_string(text);
}

size_t row_json_from_hex(const json_t *json, uint8_t *out, size_t size)
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
