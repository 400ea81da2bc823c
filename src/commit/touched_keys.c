/* A hash set of keys. Each row holds its key; all are children of the set. The
 * hash's own tables are malloc's and freed by the destructor. */
#include "commit/touched_keys.h"

#include <talloc.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(row) ((row)->lost = true)
#include <uthash.h>

enum { KEYS_MAX = 100000 };

struct row {
    UT_hash_handle hh;
    bool lost; /* the hash had no memory for it */
    uint8_t key[];
};

struct touched_keys {
    struct kx_slice start;
    struct kx_slice end;
    struct row *rows;
    bool overflowed;
};

static int forget_rows(struct touched_keys *touched)
{
    HASH_CLEAR(hh, touched->rows);
    return 0;
}

struct touched_keys *touched_keys_create(void *mem, struct kx_slice start,
                                         struct kx_slice end)
{
    struct touched_keys *touched = talloc_zero(mem, struct touched_keys);
    if (touched == NULL)
        return NULL;
    touched->start = start;
    touched->end = end;
    talloc_set_destructor(touched, forget_rows);
    return touched;
}

/* After the first key that is not taken in, the set can no longer be used. */
static void add(struct touched_keys *touched, struct kx_slice key)
{
    if (touched_keys_has(touched, key))
        return;
    struct row *row = NULL;
    if (HASH_COUNT(touched->rows) < KEYS_MAX)
        row = talloc_size(touched, sizeof *row + key.size);
    if (row == NULL) {
        touched->overflowed = true;
        return;
    }
    row->lost = false;
    memcpy(row->key, key.data, key.size);
    HASH_ADD_KEYPTR(hh, touched->rows, row->key, (unsigned)key.size, row);
    if (row->lost) {
        talloc_free(row);
        touched->overflowed = true;
    }
}

void touched_keys_note(struct touched_keys *touched,
                       const struct net_change *changes, size_t count)
{
    for (size_t i = 0; i < count && !touched->overflowed; i++)
        if (kx_compare(changes[i].key, touched->start) >= 0 &&
            kx_compare(changes[i].key, touched->end) < 0)
            add(touched, changes[i].key);
}

bool touched_keys_has(const struct touched_keys *touched, struct kx_slice key)
{
    struct row *row = NULL;
    if (touched->rows == NULL)
        return false;
    HASH_FIND(hh, touched->rows, key.data, (unsigned)key.size, row);
    return row != NULL;
}

bool touched_keys_empty(const struct touched_keys *touched)
{
    return touched->rows == NULL;
}

bool touched_keys_overflowed(const struct touched_keys *touched)
{
    return touched->overflowed;
}
