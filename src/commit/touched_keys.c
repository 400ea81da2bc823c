/* A Bloom filter with four bits for each key. Of so many zeros the C library
 * takes no pages before they are written: that of a short build takes little.
 */
#include "commit/touched_keys.h"

#include <stdlib.h>
#include <talloc.h>

#include "base/hash.h"

enum { PROBES = 4 };

struct touched_keys {
    uint8_t *bits;
    bool empty;
};

static int free_bits(struct touched_keys *touched)
{
    free(touched->bits);
    return 0;
}

struct touched_keys *touched_keys_create(void *mem)
{
    struct touched_keys *touched = talloc(mem, struct touched_keys);
    if (touched == NULL)
        return NULL;
    *touched =
        (struct touched_keys){.bits = calloc(1, TOUCHED_BYTES), .empty = true};
    talloc_set_destructor(touched, free_bits);
    if (touched->bits != NULL)
        return touched;
    talloc_free(touched);
    return NULL;
}

/* The n-th bit of a key. Both halves of its hash are hashes. */
static size_t bit_of(uint64_t hash, uint64_t n)
{
    uint64_t step = (hash >> 32) | 1;
    return (size_t)((hash + n * step) % ((uint64_t)TOUCHED_BYTES * 8));
}

void touched_keys_note(struct touched_keys *touched,
                       const struct net_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = hash_bytes(changes[i].key);
        for (uint64_t n = 0; n < PROBES; n++) {
            size_t bit = bit_of(hash, n);
            touched->bits[bit / 8] |= (uint8_t)(1 << bit % 8);
        }
    }
    touched->empty = touched->empty && count == 0;
}

bool touched_keys_may_have(const struct touched_keys *touched,
                           struct kx_slice key)
{
    if (touched->empty)
        return false;
    uint64_t hash = hash_bytes(key);
    for (uint64_t n = 0; n < PROBES; n++) {
        size_t bit = bit_of(hash, n);
        if ((touched->bits[bit / 8] & 1 << bit % 8) == 0)
            return false;
    }
    return true;
}
