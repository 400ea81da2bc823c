/* A hash table with open addressing, half full at most. That a key was noted
 * only costs a wait, so its hash stands for it. */
#include "cli_repeats.h"

#include <talloc.h>

#include "cli_flight.h"

enum { PLACES = 1 << 18 };

bool cli_repeats_begin(struct cli_repeats *repeats, void *mem)
{
    *repeats = (struct cli_repeats){
        .places = talloc_zero_array(mem, struct cli_repeat, PLACES),
        .batch = 1};
    return repeats->places != NULL;
}

const struct cli_repeat *cli_repeats_note(struct cli_repeats *repeats,
                                          struct kx_slice key, size_t item)
{
    uint64_t hash = kx_hash(KX_HASH_START, key);
    size_t at = hash % PLACES;
    while (repeats->places[at].batch > repeats->landed) {
        if (repeats->places[at].hash == hash)
            return &repeats->places[at];
        at = (at + 1) % PLACES;
    }
    repeats->places[at] = (struct cli_repeat){
        .hash = hash, .batch = repeats->batch, .item = (uint32_t)item};
    repeats->count++;
    return NULL;
}

void cli_repeats_next_batch(struct cli_repeats *repeats)
{
    repeats->batch++;
}

bool cli_repeats_full(const struct cli_repeats *repeats)
{
    return repeats->count + FLIGHT_ENTRIES_MAX > PLACES / 2;
}

void cli_repeats_clear(struct cli_repeats *repeats)
{
    repeats->count = 0;
    repeats->landed = repeats->batch++;
}
