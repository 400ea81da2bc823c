/* What the storage files share about Berkeley DB. Private to the storage line
 * of LAYERS: nothing above it knows that this library exists.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include <db.h>
#include <pthread.h>
#include <stdatomic.h>

#include "storage/witness.h"

/* The open environment. Its handles may be used by any thread; `failed` is set
 * by whoever notices, and never taken back. */
struct env {
    DB_ENV *db;
    DB *tables[TABLE_COUNT];
    DB_TXN *begun;       /* of the parts applied so far (txn.h), or NULL */
    struct spare *spare; /* the next log file */
    struct leeway *leeway;
    struct witness witness;
    atomic_bool failed;    /* the library panicked or a flush failed */
    unsigned syncs_failed; /* in the process, when it was opened */
    atomic_int error;      /* the first that is no everyday answer, or 0 */
    _Atomic uint64_t checkpoints;
    pthread_mutex_t logs_lock; /* guards what follows (logs.h) */
    unsigned logs_held;
    uint32_t logs_kept_from;
};

/* From an errno or DB_ error of the library, with a log line naming `call`
 * for everything but absence, presence and a full disk. */
enum kx_status engine_status(struct env *env, int error, const char *call);

/* Points a DBT at bytes to be read by the library. */
static inline DBT engine_in(struct kx_slice bytes)
{
    return (DBT){.data = (void *)bytes.data,
                 .size = (u_int32_t)bytes.size,
                 .flags = DB_DBT_READONLY};
}

#endif
