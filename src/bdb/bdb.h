/* What the files of bdb and storage share about Berkeley DB. No other room uses
 * this library. */
#ifndef BDB_H
#define BDB_H

#include <db.h>
#include <stdatomic.h>

#include "bdb/table.h"

/* The open environment, a part of storage's (storage/env_state.h). Any thread
 * may use its handles. `failed` is set by the thread that notices a failure,
 * and never reset. */
struct env {
    struct engine engine; /* first, so that one pointer is both */
    DB_ENV *db;
    DB *tables[TABLE_COUNT];
    DB_TXN *begun;      /* of the parts applied so far (txn.h), or NULL */
    atomic_bool failed; /* the library panicked or a flush failed */
    atomic_int error;   /* the first that is no everyday result, or 0 */
};

/* From an errno or DB_ error of the library, with a log line naming `call`
 * for everything but absence, presence and a full disk. */
enum kx_status bdb_status(struct env *env, int error, const char *call);

/* Points a DBT at bytes to be read by the library. */
static inline DBT bdb_in(struct kx_slice bytes)
{
    return (DBT){.data = (void *)bytes.data,
                 .size = (u_int32_t)bytes.size,
                 .flags = DB_DBT_READONLY};
}

#endif
