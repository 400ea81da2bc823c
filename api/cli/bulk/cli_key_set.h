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

struct cli_key_set {
    struct cli_repeat *places;
    size_t place_count;
    size_t count;
    uint32_t batch;  /* the one that is being filled, from 1 */
    uint32_t landed; /* up to this one all is forgotten */
};

/* False without memory. What it takes is freed by cli_key_set_end. */
bool cli_key_set_begin(struct cli_key_set *repeats);
void cli_key_set_end(struct cli_key_set *repeats);

/* The item-th of the present batch has this key (encoded). NULL when no other
 * has had it since the last cli_key_set_clear; else the first that had it, or,
 * most rarely, a key with the same hash. It is noted only in the first case. */
const struct cli_repeat *cli_key_set_note(struct cli_key_set *repeats,
                                          struct kx_slice key, size_t item);

/* A batch ends. */
void cli_key_set_next_batch(struct cli_key_set *repeats);

/* Is there no room for another batch? */
bool cli_key_set_full(const struct cli_key_set *repeats);

/* Makes room for as many keys again; 32 to 64 bytes for each. False without
 * memory. */
bool cli_key_set_grow(struct cli_key_set *repeats);

/* Forgets all, for nothing is under way; another batch begins. */
void cli_key_set_clear(struct cli_key_set *repeats);

#endif
