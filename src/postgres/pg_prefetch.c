/* A hash by key. The values lie in the answers of the database. */
#include "postgres/pg_prefetch.h"

#include <talloc.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(row) ((row)->lost = true)
#include <uthash.h>

/* Of what is known before an answer is added: beyond it all is forgotten. */
enum { KNOWN_BYTES_MAX = 8 << 20 };

struct prefetched {
    UT_hash_handle hh;
    struct kx_slice key;
    struct kx_slice value;
    enum kx_status status; /* what a look-up returns */
    bool lost;             /* the hash had no memory for it */
};

bool pg_prefetch_ask(void *mem, const struct kx_slice *keys, size_t count,
                     struct pg_params *params)
{
    struct pg_array *ks = talloc_zero_array(mem, struct pg_array, 2);
    if (ks == NULL)
        return false;
    struct pg_array *digests = ks + 1;
    pg_array_init(ks, mem);
    pg_array_init(digests, mem);
    for (size_t i = 0; i < count; i++) {
        struct pg_key key;
        pg_key_split(keys[i], &key);
        pg_array_add(ks, key.k);
        pg_array_add(digests, kx_slice(key.digest, key.digest_size));
    }
    pg_params_array(params, ks);
    pg_params_array(params, digests);
    pg_params_number(params, PG_PREFETCH_VALUE_MAX);
    return !ks->bytes.failed && !digests->bytes.failed;
}

void pg_prefetch_clear(struct pg_prefetch *prefetch)
{
    HASH_CLEAR(hh, prefetch->of); /* NOLINT: it is NULL after it */
    talloc_free(prefetch->mem);
    *prefetch = (struct pg_prefetch){.mem = NULL};
}

struct kept_rows {
    PGresult *rows;
};

static int clear_rows(struct kept_rows *kept)
{
    PQclear(kept->rows);
    return 0;
}

/* The rows of an answer are kept with what is known. */
static bool keep(struct pg_prefetch *prefetch, PGresult *rows)
{
    if (prefetch->mem == NULL)
        prefetch->mem = talloc_new(NULL);
    struct kept_rows *kept = talloc(prefetch->mem, struct kept_rows);
    if (kept == NULL) {
        PQclear(rows);
        return false;
    }
    kept->rows = rows;
    talloc_set_destructor(kept, clear_rows);
    return true;
}

/* A key that comes twice is known once. */
static bool add(struct pg_prefetch *prefetch, struct prefetched *row,
                struct kx_slice key)
{
    struct prefetched *there;
    HASH_FIND(hh, prefetch->of, key.data, (unsigned)key.size, there);
    if (there != NULL)
        return true;
    prefetch->bytes += sizeof *row + key.size;
    uint8_t *copy = talloc_memdup(prefetch->mem, key.data, key.size);
    if (copy == NULL)
        return false;
    row->key = kx_slice(copy, key.size);
    row->status = KX_ABSENT;
    HASH_ADD_KEYPTR(hh, prefetch->of, row->key.data, (unsigned)key.size, row);
    return !row->lost;
}

/* A row of the answer has the number of its key, from 1, and the value, or NULL
 * in place of a long one. */
static void take_row(struct pg_prefetch *prefetch, const struct kx_slice *keys,
                     size_t count, const PGresult *rows, int n)
{
    struct prefetched *row;
    int64_t number = pg_number(rows, n, 0);
    if (number < 1 || (uint64_t)number > count)
        return;
    struct kx_slice key = keys[number - 1];
    HASH_FIND(hh, prefetch->of, key.data, (unsigned)key.size, row);
    if (row == NULL)
        return;
    row->status = PQgetisnull(rows, n, 1) ? KX_AGAIN : KX_OK;
    row->value = pg_bytes(rows, n, 1);
    prefetch->bytes += row->value.size;
}

void pg_prefetch_take(struct pg_prefetch *prefetch, const struct kx_slice *keys,
                      size_t count, PGresult *rows)
{
    if (prefetch->bytes > KNOWN_BYTES_MAX)
        pg_prefetch_clear(prefetch);
    bool done = keep(prefetch, rows);
    struct prefetched *all =
        talloc_zero_array(prefetch->mem, struct prefetched, (unsigned)count);
    done = done && all != NULL;
    for (size_t i = 0; done && i < count; i++)
        done = add(prefetch, &all[i], keys[i]);
    if (!done) {
        pg_prefetch_clear(prefetch);
        return;
    }
    for (int n = 0; n < PQntuples(rows); n++)
        take_row(prefetch, keys, count, rows, n);
}

enum kx_status pg_prefetch_find(const struct pg_prefetch *prefetch,
                                struct kx_slice key, struct kx_slice *value_out)
{
    const struct prefetched *row;
    HASH_FIND(hh, prefetch->of, key.data, (unsigned)key.size, row);
    if (row == NULL)
        return KX_AGAIN;
    *value_out = row->value;
    return row->status;
}
