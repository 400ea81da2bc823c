/* A Bloom filter with four bits for each key. The C library takes no pages for
 * zeros before they are written, so the filter of a short build takes little
 * memory. */
#include "commit/changed_keys.h"

#include <stdlib.h>
#include <talloc.h>

#include "base/hash.h"

enum { PROBES = 4 };

struct changed_keys {
    uint8_t *bits;
    bool empty;
};

static int free_bits(struct changed_keys *changed)
{
    free(changed->bits);
    return 0;
}

struct changed_keys *changed_keys_create(void *mem)
{
    struct changed_keys *changed = talloc(mem, struct changed_keys);
    if (changed == NULL)
        return NULL;
    *changed = (struct changed_keys){.bits = calloc(1, CHANGED_KEYS_BYTES),
                                     .empty = true};
    talloc_set_destructor(changed, free_bits);
    if (changed->bits != NULL)
        return changed;
    talloc_free(changed);
    return NULL;
}

/* The n-th bit of a key. Both halves of its hash are hashes. */
static size_t bit_of(uint64_t hash, uint64_t n)
{
    uint64_t step = (hash >> 32) | 1;
    return (size_t)((hash + n * step) % ((uint64_t)CHANGED_KEYS_BYTES * 8));
}

void changed_keys_note(struct changed_keys *changed,
                       const struct net_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = hash_bytes(changes[i].key);
        for (uint64_t n = 0; n < PROBES; n++) {
            size_t bit = bit_of(hash, n);
            changed->bits[bit / 8] |= (uint8_t)(1 << bit % 8);
        }
    }
    changed->empty = changed->empty && count == 0;
}

bool changed_keys_may_have(const struct changed_keys *changed,
                           struct kx_slice key)
{
    if (changed->empty)
        return false;
    uint64_t hash = hash_bytes(key);
    for (uint64_t n = 0; n < PROBES; n++) {
        size_t bit = bit_of(hash, n);
        if ((changed->bits[bit / 8] & 1 << bit % 8) == 0)
            return false;
    }
    return true;
}
