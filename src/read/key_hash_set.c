/* Open addressing with linear probing, at most half full. A slot is the hash
 * with the number in its two low bits; 0 is free, for no number is. */
#include "read/key_hash_set.h"

#include <talloc.h>

enum { FIRST_SLOTS = 1024 };

static const uint64_t NUMBER = 3;

struct key_hash_set {
    uint64_t *slots;
    size_t capacity; /* a power of two */
    size_t count;
};

struct key_hash_set *key_hash_set_create(void *mem)
{
    struct key_hash_set *set = talloc_zero(mem, struct key_hash_set);
    if (set == NULL)
        return NULL;
    set->capacity = FIRST_SLOTS;
    set->slots = talloc_zero_array(set, uint64_t, FIRST_SLOTS);
    if (set->slots != NULL)
        return set;
    talloc_free(set);
    return NULL;
}

/* Mixes the hash once more, because the low bits choose the place in the table.
 */
static uint64_t hash_of(struct kx_slice key)
{
    uint64_t hash = kx_hash(KX_HASH_START, key);
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return (hash ^ hash >> 29) & ~NUMBER;
}

/* Returns the slot of the hash, or the free slot where it belongs. */
static uint64_t *find(const struct key_hash_set *set, uint64_t hash)
{
    size_t at = (size_t)(hash >> 2) & (set->capacity - 1);
    while (set->slots[at] != 0 && (set->slots[at] & ~NUMBER) != hash)
        at = (at + 1) & (set->capacity - 1);
    return &set->slots[at];
}

static bool grow(struct key_hash_set *set)
{
    struct key_hash_set larger = {.capacity = set->capacity * 2};
    larger.slots = talloc_zero_array(set, uint64_t, (unsigned)larger.capacity);
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i] != 0)
            *find(&larger, set->slots[i] & ~NUMBER) = set->slots[i];
    talloc_free(set->slots);
    set->slots = larger.slots;
    set->capacity = larger.capacity;
    return true;
}

enum kx_status key_hash_set_put(struct key_hash_set *set, struct kx_slice key,
                                unsigned number)
{
    uint64_t hash = hash_of(key);
    uint64_t *slot = find(set, hash);
    if (*slot == 0) {
        if (set->count == KEY_HASH_SET_MAX)
            return KX_END;
        if (set->count * 2 >= set->capacity && !grow(set))
            return KX_NO_MEMORY;
        slot = find(set, hash);
        set->count++;
    }
    if ((*slot & NUMBER) < number)
        *slot = hash | number;
    return KX_OK;
}

unsigned key_hash_set_get(const struct key_hash_set *set, struct kx_slice key)
{
    return (unsigned)(*find(set, hash_of(key)) & NUMBER);
}
