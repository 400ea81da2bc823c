/* A hash of the keys, which gives them back in the order in which they came. */
#include "commit/dirty_keys.h"

#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(key) ((key)->lost = true)
#include <uthash.h>

enum {
    BYTES_MAX = 256 << 10, /* of all keys */
    HELD_MAX = 32 << 20    /* of all sets that share a count */
};

struct dirty_key {
    UT_hash_handle hh;
    bool lost; /* the hash had no memory for it */
    uint8_t bytes[];
};

struct dirty_keys {
    struct dirty_key *keys;
    size_t count;
    size_t size; /* bytes of all keys */
    bool lost;
    size_t *held;
};

struct dirty_keys *dirty_keys_create(size_t *held)
{
    struct dirty_keys *dirty = calloc(1, sizeof *dirty);
    if (dirty != NULL)
        dirty->held = held;
    return dirty;
}

static void clear(struct dirty_keys *dirty)
{
    struct dirty_key *key;
    struct dirty_key *next;
    for (key = dirty->keys; key != NULL; key = next) {
        next = key->hh.next;
        HASH_DEL(dirty->keys, key); /* NOLINT: it is in the table */
        free(key);
    }
    *dirty->held -= dirty->size + dirty->count * sizeof *key;
    dirty->count = dirty->size = 0;
}

void dirty_keys_free(struct dirty_keys *dirty)
{
    if (dirty != NULL)
        clear(dirty);
    free(dirty);
}

void dirty_keys_lose(struct dirty_keys *dirty)
{
    clear(dirty);
    dirty->lost = true;
}

static bool has(const struct dirty_keys *dirty, struct kx_slice key)
{
    struct dirty_key *found = NULL;
    HASH_FIND(hh, dirty->keys, key.data, (unsigned)key.size, found);
    return found != NULL;
}

static bool put(struct dirty_keys *dirty, struct kx_slice key)
{
    size_t memory = sizeof(struct dirty_key) + key.size;
    if (dirty->count == KX_WATCH_CHANGES_MAX ||
        dirty->size + key.size > BYTES_MAX || *dirty->held + memory > HELD_MAX)
        return false;
    struct dirty_key *fresh = malloc(memory);
    if (fresh == NULL)
        return false;
    fresh->lost = false;
    memcpy(fresh->bytes, key.data, key.size);
    HASH_ADD_KEYPTR(hh, dirty->keys, fresh->bytes, (unsigned)key.size, fresh);
    if (fresh->lost) {
        free(fresh);
        return false;
    }
    dirty->count++;
    dirty->size += key.size;
    *dirty->held += memory;
    return true;
}

void dirty_keys_add(struct dirty_keys *dirty, struct kx_slice key)
{
    if (!dirty->lost && !has(dirty, key) && !put(dirty, key))
        dirty_keys_lose(dirty);
}

bool dirty_keys_take(struct dirty_keys *dirty, struct kx_slice *keys,
                     size_t *count_out, struct kx_buffer *bytes)
{
    bool whole = !dirty->lost;
    size_t count = 0;
    bytes->size = 0;
    whole = kx_buffer_reserve(bytes, dirty->size + 1) && whole;
    for (struct dirty_key *key = dirty->keys; whole && key != NULL;
         key = key->hh.next) {
        struct kx_slice slice = kx_slice(key->bytes, key->hh.keylen);
        keys[count++] = kx_slice(bytes->data + bytes->size, slice.size);
        kx_add_slice(bytes, slice);
    }
    clear(dirty);
    dirty->lost = false;
    *count_out = count;
    return whole;
}
