/* The keys of an import that may be under way: of two lines with one key the
 * second must find what the first has stored, so it waits until that is there.
 * A dry run stores nothing: it keeps all its keys. */
#ifndef API_CLI_REPEATS_H
#define API_CLI_REPEATS_H

#include "kindex.h"

/* Where a key was noted. */
struct cli_repeat {
    uint64_t hash;
    uint32_t batch;
    uint32_t item;
};

struct cli_repeats {
    struct cli_repeat *places;
    size_t place_count;
    size_t count;
    uint32_t batch;  /* the one that is being filled, from 1 */
    uint32_t landed; /* up to this one all is forgotten */
};

/* False without memory. What it takes is freed by cli_repeats_end. */
bool cli_repeats_begin(struct cli_repeats *repeats);
void cli_repeats_end(struct cli_repeats *repeats);

/* The item-th of the present batch has this key (encoded). NULL when no other
 * has had it since the last cli_repeats_clear; else the first that had it, or,
 * most rarely, a key with the same hash. It is noted only in the first case. */
const struct cli_repeat *cli_repeats_note(struct cli_repeats *repeats,
                                          struct kx_slice key, size_t item);

/* A batch ends. */
void cli_repeats_next_batch(struct cli_repeats *repeats);

/* Is there no room for another batch? */
bool cli_repeats_full(const struct cli_repeats *repeats);

/* Makes room for as many keys again; 32 to 64 bytes for each. False without
 * memory. */
bool cli_repeats_grow(struct cli_repeats *repeats);

/* Forgets all, for nothing is under way; another batch begins. */
void cli_repeats_clear(struct cli_repeats *repeats);

#endif
