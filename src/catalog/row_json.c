/* If memory runs out in the middle of a text, Jansson drops a byte without an
 * error. So its allocations go through this file, which notes failures. */
#include "catalog/row_json.h"

#include <pthread.h>
#include <stdlib.h>

static _Thread_local bool starved;
static pthread_once_t noting = PTHREAD_ONCE_INIT;

static void *take_memory(size_t size)
{
    void *block = malloc(size);
    starved |= block == NULL;
    return block;
}

/* Called once per process, before the first document is read. */
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
    char text[2 * ROW_KEY_MAX + 1];
    kx_hex_write(kx_slice(bytes, size), text);
    return json_string(text);
}

size_t row_json_from_hex(const json_t *json, uint8_t *out, size_t size)
{
    struct kx_slice text =
        kx_slice(json_string_value(json), json_string_length(json));
    struct kx_buffer bytes = {.data = out, .capacity = size};
    bool fits = text.size / 2 <= size && kx_hex_read(text, &bytes);
    return fits ? bytes.size : 0;
}
