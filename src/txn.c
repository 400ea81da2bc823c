/* Applies a batch of writes in one transaction. */
#include "txn.h"

#include "engine.h"

static int apply_one(struct env *env, DB_TXN *txn, struct txn_write *write)
{
    DB *db = env->tables[write->table];
    DBT key = engine_in(write->key);
    DBT value = engine_in(write->value);
    int error = 0;
    switch (write->type) {
    case TXN_PUT:
        return db->put(db, txn, &key, &value, 0);
    case TXN_DELETE:
        error = db->del(db, txn, &key, 0);
        return error == DB_NOTFOUND ? 0 : error;
    }
    return error;
}

enum kx_status txn_apply(struct env *env, struct txn_write *writes,
                         size_t count)
{
    DB_TXN *txn = NULL;
    int error = env->db->txn_begin(env->db, NULL, &txn, DB_TXN_NOSYNC);
    if (error != 0)
        return engine_status(env, error, "begin");
    for (size_t i = 0; error == 0 && i < count; i++)
        error = apply_one(env, txn, &writes[i]);
    if (error != 0) {
        txn->abort(txn);
        return engine_status(env, error, "apply");
    }
    return engine_status(env, txn->commit(txn, DB_TXN_NOSYNC), "commit");
}
