/* Where memory runs out in the middle of a text Jansson loses a byte and says
 * nothing, so it gets its memory here, where that is noted. */
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
