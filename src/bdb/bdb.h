/* The parts of Berkeley DB that bdb and storage share. No other room uses the
 * library. */
#ifndef BDB_H
#define BDB_H

#include <db.h>
#include <stdatomic.h>

#include "bdb/table.h"

/* The open environment, which is part of storage's struct env_state
 * (storage/env_state.h). Any thread may use its handles. The thread that
 * notices a failure sets `failed`, which is never reset. */
struct env {
    struct engine engine; /* first, so that one pointer is both */
    DB_ENV *db;
    DB *tables[TABLE_COUNT];
    DB_TXN *begun;      /* holds the parts applied so far (txn.h), or NULL */
    atomic_bool failed; /* the library panicked or a flush failed */
    atomic_int error;   /* first error that led to KX_FAILED, or 0 */
};

/* Returns the status of an errno or DB_ error. Logs all but absence, presence,
 * a full disk and lack of memory; `call` names the call in the log. */
enum kx_status bdb_status(struct env *env, int error, const char *call);

/* Returns a DBT for bytes that the library only reads. */
static inline DBT bdb_in(struct kx_slice bytes)
{
    return (DBT){.data = (void *)bytes.data,
                 .size = (u_int32_t)bytes.size,
                 .flags = DB_DBT_READONLY};
}

#endif
