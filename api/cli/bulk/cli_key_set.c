/* A hash table with open addressing, at most half full. It stores only hashes:
 * a collision costs one wait. */
#include "cli/bulk/cli_key_set.h"

#include <stdlib.h>

#include "cli/bulk/cli_pipeline.h"

enum { SLOTS = 1 << 18 }; /* at first */

bool cli_key_set_begin(struct cli_key_set *keys)
{
    *keys = (struct cli_key_set){.slots = calloc(SLOTS, sizeof *keys->slots),
                                 .capacity = SLOTS,
                                 .batch = 1};
    return keys->slots != NULL;
}

void cli_key_set_end(struct cli_key_set *keys)
{
    free(keys->slots);
}

/* The slot where a key with this hash is noted, or the free one for it. */
static struct cli_key_note *find(const struct cli_key_set *keys, uint64_t hash)
{
    size_t at = hash % keys->capacity;
    while (keys->slots[at].batch > keys->cleared &&
           keys->slots[at].hash != hash)
        at = (at + 1) % keys->capacity;
    return &keys->slots[at];
}

const struct cli_key_note *cli_key_set_note(struct cli_key_set *keys,
                                            struct kx_slice key, size_t item)
{
    uint64_t hash = kx_hash(KX_HASH_START, key);
    struct cli_key_note *slot = find(keys, hash);
    if (slot->batch > keys->cleared)
        return slot;
    *slot = (struct cli_key_note){
        .hash = hash, .batch = keys->batch, .item = (uint32_t)item};
    keys->count++;
    return NULL;
}

void cli_key_set_next_batch(struct cli_key_set *keys)
{
    keys->batch++;
}

bool cli_key_set_full(const struct cli_key_set *keys)
{
    return keys->count + CLI_PIPELINE_ENTRIES_MAX > keys->capacity / 2;
}

bool cli_key_set_grow(struct cli_key_set *keys)
{
    struct cli_key_set larger = *keys;
    larger.capacity *= 2;
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < keys->capacity; i++)
        if (keys->slots[i].batch > keys->cleared)
            *find(&larger, keys->slots[i].hash) = keys->slots[i];
    free(keys->slots);
    *keys = larger;
    return true;
}

void cli_key_set_clear(struct cli_key_set *keys)
{
    keys->count = 0;
    keys->cleared = keys->batch++;
}
