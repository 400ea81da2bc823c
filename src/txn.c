/* Applies a batch of writes in one transaction. There are no locks to wait for
 * and so no deadlocks: nothing is ever tried again. */
#include "txn.h"

#include <errno.h>
#include <stdlib.h>

#include "engine.h"
#include "witness.h"

enum {
    BULK_MIN = 64,          /* fewer puts cost less one by one */
    BULK_BYTES = 256 << 10, /* of one call, unless a single row is larger */
    BULK_ROW_OVERHEAD = 16, /* of the library's own for each row */
    BULK_OVERHEAD = 4       /* and for the whole */
};

static size_t bulk_size(const struct txn_write *write)
{
    return write->key.size + write->value.size + BULK_ROW_OVERHEAD;
}

/* How many of the writes, from the first on, one bulk call can take. */
static size_t bulk_run(const struct txn_write *writes, size_t count,
                       size_t *bytes_out)
{
    size_t run = 0;
    size_t bytes = 0;
    while (run < count && writes[run].type == TXN_PUT &&
           writes[run].table == writes[0].table &&
           bytes + bulk_size(&writes[run]) <= BULK_BYTES)
        bytes += bulk_size(&writes[run++]);
    *bytes_out = bytes;
    return run;
}

/* Stores `run` rows, which take `bytes`, in one call. */
static int put_bulk(DB *db, DB_TXN *txn, const struct txn_write *writes,
                    size_t run, size_t bytes)
{
    size_t size = (bytes + BULK_OVERHEAD + 1023) & ~(size_t)1023;
    DBT rows = {.data = malloc(size),
                .ulen = (u_int32_t)size,
                .flags = DB_DBT_USERMEM | DB_DBT_BULK};
    DBT nothing = {.size = 0};
    void *place = NULL;
    if (rows.data == NULL)
        return ENOMEM;
    DB_MULTIPLE_WRITE_INIT(place, &rows);
    for (size_t i = 0; i < run && place != NULL; i++)
        DB_MULTIPLE_KEY_WRITE_NEXT(place, &rows, writes[i].key.data,
                                   writes[i].key.size, writes[i].value.data,
                                   writes[i].value.size);
    int error = ENOMEM;
    if (place != NULL)
        error = db->put(db, txn, &rows, &nothing, DB_MULTIPLE_KEY);
    free(rows.data);
    return error;
}

static int apply_one(struct env *env, DB_TXN *txn,
                     const struct txn_write *write)
{
    DB *db = env->tables[write->table];
    DBT key = engine_in(write->key);
    DBT value = engine_in(write->value);
    if (write->type == TXN_PUT)
        return db->put(db, txn, &key, &value, 0);
    int error = db->del(db, txn, &key, 0);
    return error == DB_NOTFOUND ? 0 : error;
}

static int apply_all(struct env *env, DB_TXN *txn,
                     const struct txn_write *writes, size_t count)
{
    int error = 0;
    size_t done = 0;
    while (error == 0 && done < count) {
        size_t bytes = 0;
        const struct txn_write *next = &writes[done];
        size_t run = bulk_run(next, count - done, &bytes);
        if (run < BULK_MIN) {
            error = apply_one(env, txn, next);
            done++;
        } else {
            error = put_bulk(env->tables[next->table], txn, next, run, bytes);
            done += run;
        }
    }
    return error;
}

enum kx_status txn_apply(struct env *env, const struct txn_write *writes,
                         size_t count)
{
    DB_TXN *txn = NULL;
    int error = env->db->txn_begin(env->db, NULL, &txn, DB_TXN_NOSYNC);
    if (error != 0)
        return engine_status(env, error, "begin");
    error = apply_all(env, txn, writes, count);
    if (error != 0) {
        txn->abort(txn);
        return engine_status(env, error, "apply");
    }
    error = txn->commit(txn, DB_TXN_NOSYNC);
    if (error == 0)
        witness_batch(env);
    return engine_status(env, error, "commit");
}
