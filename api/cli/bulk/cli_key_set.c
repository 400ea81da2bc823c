/* A hash table with open addressing, at most half full. It has hashes only: a
 * collision costs no more than a wait. */
#include "cli/bulk/cli_key_set.h"

#include <stdlib.h>

#include "cli/bulk/cli_pipeline.h"

enum { PLACES = 1 << 18 }; /* at first */

bool cli_key_set_begin(struct cli_key_set *repeats)
{
    *repeats =
        (struct cli_key_set){.places = calloc(PLACES, sizeof *repeats->places),
                             .place_count = PLACES,
                             .batch = 1};
    return repeats->places != NULL;
}

void cli_key_set_end(struct cli_key_set *repeats)
{
    free(repeats->places);
}

/* The place where a key with this hash is noted, or the free one for it. */
static struct cli_repeat *find(const struct cli_key_set *repeats, uint64_t hash)
{
    size_t at = hash % repeats->place_count;
    while (repeats->places[at].batch > repeats->landed &&
           repeats->places[at].hash != hash)
        at = (at + 1) % repeats->place_count;
    return &repeats->places[at];
}

const struct cli_repeat *cli_key_set_note(struct cli_key_set *repeats,
                                          struct kx_slice key, size_t item)
{
    uint64_t hash = kx_hash(KX_HASH_START, key);
    struct cli_repeat *place = find(repeats, hash);
    if (place->batch > repeats->landed)
        return place;
    *place = (struct cli_repeat){
        .hash = hash, .batch = repeats->batch, .item = (uint32_t)item};
    repeats->count++;
    return NULL;
}

void cli_key_set_next_batch(struct cli_key_set *repeats)
{
    repeats->batch++;
}

bool cli_key_set_full(const struct cli_key_set *repeats)
{
    return repeats->count + FLIGHT_ENTRIES_MAX > repeats->place_count / 2;
}

bool cli_key_set_grow(struct cli_key_set *repeats)
{
    struct cli_key_set larger = *repeats;
    larger.place_count *= 2;
    larger.places = calloc(larger.place_count, sizeof *larger.places);
    if (larger.places == NULL)
        return false;
    for (size_t i = 0; i < repeats->place_count; i++)
        if (repeats->places[i].batch > repeats->landed)
            *find(&larger, repeats->places[i].hash) = repeats->places[i];
    free(repeats->places);
    *repeats = larger;
    return true;
}

void cli_key_set_clear(struct cli_key_set *repeats)
{
    repeats->count = 0;
    repeats->landed = repeats->batch++;
}
