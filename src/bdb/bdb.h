/* What the files of bdb and storage share about Berkeley DB. No other room
 * knows that this library exists. */
#ifndef BDB_H
#define BDB_H

#include <db.h>
#include <pthread.h>
#include <stdatomic.h>

#include "storage/log_witness.h"

/* The open environment. Its handles may be used by any thread; `failed` is set
 * by whoever notices, and never taken back. */
struct env {
    DB_ENV *db;
    DB *tables[TABLE_COUNT];
    DB_TXN *begun; /* of the parts applied so far (txn.h), or NULL */
    struct log_prealloc *spare; /* the next log file */
    struct checkpoint_throttle *leeway;
    struct log_witness witness;
    atomic_bool failed;    /* the library panicked or a flush failed */
    unsigned syncs_failed; /* in the process, when it was opened */
    atomic_int error;      /* the first that is no everyday answer, or 0 */
    _Atomic uint64_t checkpoints;
    pthread_mutex_t logs_lock; /* guards what follows (log_files.h) */
    unsigned logs_held;
    uint32_t logs_kept_from;
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
