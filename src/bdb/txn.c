/* Applies a batch of writes in one transaction. Without locks there are no
 * deadlocks, so no transaction has to be retried.
 *
 * Rows are put through one cursor per table, which is not used again after an
 * error. So the library does not have to keep a copy of the cursor to return to
 * (DBC_TRANSIENT, as in its own DB->put). For neighbouring rows, as jobs and
 * large imports write them, the library first tries the page of the last row,
 * which saves a search from the root (DB_CURSOR_BULK). Rows of many clients are
 * rarely neighbours; that try would cost more than it saves. */
#include "bdb/txn.h"

#include "bdb/bdb.h"

enum {
    BULK_MIN = 512
}; /* a batch of at least this many rows counts as neighbours */

/* A transaction that is being applied. */
struct txn_work {
    struct env *env;
    DB_TXN *txn;
    u_int32_t cursor_flags;
    DBC *cursors[TABLE_COUNT]; /* NULL: not opened yet */
};

static int open_cursor(struct txn_work *work, enum table table)
{
    DB *db = work->env->tables[table];
    DBC *cursor = NULL;
    int error = db->cursor(db, work->txn, &cursor, work->cursor_flags);
    if (error != 0)
        return error;
    cursor->flags |= DBC_TRANSIENT;
    work->cursors[table] = cursor;
    return 0;
}

static int put_row(struct txn_work *work, const struct row_write *write)
{
    DBT key = bdb_in(write->key);
    DBT value = bdb_in(write->value);
    int error = 0;
    if (work->cursors[write->table] == NULL)
        error = open_cursor(work, write->table);
    if (error != 0)
        return error;
    DBC *cursor = work->cursors[write->table];
    return cursor->put(cursor, &key, &value, DB_KEYLAST);
}

/* Checks and stores in one walk of the tree, which no cursor call can do. */
static int insert_row(struct txn_work *work, const struct row_write *write)
{
    DB *db = work->env->tables[write->table];
    DBT key = bdb_in(write->key);
    DBT value = bdb_in(write->value);
    return db->put(db, work->txn, &key, &value, DB_NOOVERWRITE);
}

static int remove_row(struct txn_work *work, const struct row_write *write)
{
    DB *db = work->env->tables[write->table];
    DBT key = bdb_in(write->key);
    int error = db->del(db, work->txn, &key, 0);
    return error == DB_NOTFOUND ? 0 : error;
}

/* The library requires cursors to be closed before the transaction ends. */
static int close_cursors(struct txn_work *work)
{
    int error = 0;
    for (int table = 0; table < TABLE_COUNT; table++) {
        DBC *cursor = work->cursors[table];
        int closed = cursor == NULL ? 0 : cursor->close(cursor);
        if (error == 0)
            error = closed;
    }
    return error;
}

static int apply_write(struct txn_work *work, const struct row_write *write)
{
    switch (write->type) {
    case ROW_PUT:
        return put_row(work, write);
    case ROW_INSERT:
        return insert_row(work, write);
    case ROW_DELETE:
        break;
    }
    return remove_row(work, write);
}

static int apply_all(struct txn_work *work, const struct row_write *writes,
                     size_t count)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < count; i++)
        error = apply_write(work, &writes[i]);
    int closed = close_cursors(work);
    return error != 0 ? error : closed;
}

enum kx_status txn_begin(struct env *env)
{
    int error = 0;
    if (env->begun == NULL)
        error = env->db->txn_begin(env->db, NULL, &env->begun, DB_TXN_NOSYNC);
    return bdb_status(env, error, "begin");
}

enum kx_status txn_apply_part(struct env *env, const struct row_write *writes,
                              size_t count, enum row_order order)
{
    struct txn_work work = {.env = env};
    if (order == ROWS_NEIGHBOURS || count >= BULK_MIN)
        work.cursor_flags = DB_CURSOR_BULK;
    enum kx_status status = txn_begin(env);
    if (status != KX_OK)
        return status;
    work.txn = env->begun;
    int error = apply_all(&work, writes, count);
    if (error != 0)
        txn_take_back(env);
    return bdb_status(env, error, "apply");
}

enum kx_status txn_apply(struct env *env, const struct row_write *writes,
                         size_t count, enum row_order order)
{
    enum kx_status status = txn_apply_part(env, writes, count, order);
    if (status != KX_OK)
        return status;
    int error = env->begun->commit(env->begun, DB_TXN_NOSYNC);
    env->begun = NULL;
    return bdb_status(env, error, "commit");
}

void txn_take_back(struct env *env)
{
    if (env->begun != NULL)
        env->begun->abort(env->begun);
    env->begun = NULL;
}
