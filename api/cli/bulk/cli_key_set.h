/* The keys of an import whose batches have not been answered. If two lines have
 * the same key, the second must find the entry that the first has stored, so it
 * waits for the first. A dry run stores nothing, so the set keeps all its keys.
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
    uint32_t cleared; /* keys of batches up to this number are forgotten */
};

/* Initializes an empty set. False if memory ran out. cli_key_set_end frees it.
 */
bool cli_key_set_begin(struct cli_key_set *keys);
void cli_key_set_end(struct cli_key_set *keys);

/* Notes the encoded key of item number `item` of the current batch and returns
 * NULL. If the key has been noted since the last cli_key_set_clear, notes
 * nothing and returns where it was noted. Only hashes are compared: very rarely
 * the note is that of another key. */
const struct cli_key_note *cli_key_set_note(struct cli_key_set *keys,
                                            struct kx_slice key, size_t item);

/* Ends the current batch and begins the next. */
void cli_key_set_next_batch(struct cli_key_set *keys);

/* True if another batch of keys may not fit: clear or grow the set first. */
bool cli_key_set_full(const struct cli_key_set *keys);

/* Doubles the capacity; each key takes 32 to 64 bytes. False if memory ran out;
 * the set is then unchanged. */
bool cli_key_set_grow(struct cli_key_set *keys);

/* Forgets all keys and begins another batch. All batches must have been
 * answered. */
void cli_key_set_clear(struct cli_key_set *keys);

#endif
