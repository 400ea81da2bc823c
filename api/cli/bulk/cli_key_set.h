/* The keys of an import that are in batches under way. Of two lines with the
 * same key the second must find the entry that the first has stored, so the
 * second waits for the first. A dry run stores nothing and keeps all its keys.
 */
#ifndef API_CLI_KEY_SET_H
#define API_CLI_KEY_SET_H

#include "kindex.h"

/* Where a key was noted. */
struct cli_key_note {
    uint64_t hash;
    uint32_t batch;
    uint32_t item;
};

struct cli_key_set {
    struct cli_key_note *slots;
    size_t capacity;
    size_t count;
    uint32_t batch;   /* number of the batch that is being filled, from 1 */
    uint32_t cleared; /* keys up to this batch are forgotten */
};

/* False without memory. The memory is freed by cli_key_set_end. */
bool cli_key_set_begin(struct cli_key_set *keys);
void cli_key_set_end(struct cli_key_set *keys);

/* Notes the encoded key of an item of the current batch and returns NULL. If
 * the key has been noted since the last cli_key_set_clear, returns where, and
 * notes nothing. Very rarely that is another key with the same hash. */
const struct cli_key_note *cli_key_set_note(struct cli_key_set *keys,
                                            struct kx_slice key, size_t item);

/* Ends the current batch and begins the next. */
void cli_key_set_next_batch(struct cli_key_set *keys);

/* True if there is no room for the keys of another batch. */
bool cli_key_set_full(const struct cli_key_set *keys);

/* Doubles the capacity; each key takes 32 to 64 bytes. False without memory. */
bool cli_key_set_grow(struct cli_key_set *keys);

/* Forgets all keys and begins another batch. No batch may be under way. */
void cli_key_set_clear(struct cli_key_set *keys);

#endif
