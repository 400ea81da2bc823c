/* Rows of the entries that were read ahead with one statement, so that the
 * look-ups after it need no round trip. */
#ifndef PG_PREFETCH_H
#define PG_PREFETCH_H

#include "postgres/pg_state.h"

enum {
    PG_PREFETCH_KEYS_MAX = 1024,     /* at a time */
    PG_PREFETCH_VALUE_MAX = 8 * 1024 /* bytes; longer ones are left out */
};

/* All zero: nothing is known. */
struct pg_prefetch {
    void *mem;             /* talloc parent of what is known */
    struct prefetched *of; /* by key */
    size_t bytes;          /* of keys and values */
    uint64_t epoch;        /* the state of the writer's view that they are of */
    uint64_t batch;
};

/* Adds the parameters that ask for these keys, in talloc context mem, which
 * must live until the statement is sent: PG_MANY of pg_sql.h. False without
 * memory. */
bool pg_prefetch_ask(void *mem, const struct kx_slice *keys, size_t count,
                     struct pg_params *params);

/* Adds the rows of the answer for the same keys. The answer is cleared with
 * what is known. Without memory nothing is known. */
void pg_prefetch_take(struct pg_prefetch *prefetch, const struct kx_slice *keys,
                      size_t count, PGresult *rows);

void pg_prefetch_clear(struct pg_prefetch *prefetch);

/* KX_OK, with the value, valid until the next change; KX_ABSENT: there is no
 * such row; KX_AGAIN: it is not known. */
enum kx_status pg_prefetch_find(const struct pg_prefetch *prefetch,
                                struct kx_slice key,
                                struct kx_slice *value_out);

#endif
