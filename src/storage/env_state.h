/* The state of an open environment besides the library's handles. */
#ifndef ENV_STATE_H
#define ENV_STATE_H

#include <pthread.h>

#include "bdb/bdb.h"
#include "storage/disk_guard.h"
#include "storage/log_end.h"
#include "storage/recovery.h"

struct env_state {
    struct env env; /* first, so that one pointer is both */
    struct log_prealloc *prealloc;
    struct checkpoint_throttle *throttle;
    struct page_prefetch *prefetch;
    struct log_witness witness;
    struct disk_guard disk;
    bool marks_batches;            /* bdb_engine_mark_batches was called */
    struct row_log *rows;          /* NULL: batches are written without rows */
    struct bdb_followed *followed; /* NULL unless the rows follow an archive */
    enum kx_status (*await)(void *context); /* bdb_engine_await; or NULL */
    void *await_context;
    atomic_uint_fast64_t lease_ns; /* bdb_engine_lease; 0: no lease */
    unsigned syncs_failed; /* in this process before the environment opened */
    _Atomic uint64_t checkpoints;
    struct recovery_start recovery; /* checkpointer only */
    pthread_mutex_t logs_lock;      /* guards all that follows (log_files.h) */
    unsigned logs_held;
    uint32_t logs_kept_from;
};

static inline struct env_state *env_state(const struct env *env)
{
    return (struct env_state *)env;
}

#endif
