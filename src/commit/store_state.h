/* The open store, which this room and the rooms that use it share. Each group
 * of members says which thread may touch it. There are three kinds of threads:
 * callers' threads (commits and readers), the writer, the checkpointer. */
#ifndef STORE_STATE_H
#define STORE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "commit/view.h"
#include "commit/commit_delay.h"
#include "plan/plan.h"

struct archive;
struct build_scan;
struct tokens;
struct touched_keys;
struct watch_set;

/* How far the compaction of half-empty pages has come (compact_job.c). */
struct tidy {
    bool under_way;
    uint64_t pages;              /* of the file after the last pass */
    uint64_t removed;            /* rows removed since */
    uint64_t freed;              /* pages, in this pass */
    uint64_t logged;             /* bytes of log, in this pass */
    uint64_t unflushed;          /* bytes of log, of the last steps */
    uint8_t resume[ROW_KEY_MAX]; /* the next row; kept from pass to pass */
    size_t resume_size;          /* 0: the first one */
    uint64_t rest_until_ns;      /* kx_monotonic_ns: for the sake of readers */
};

struct kx_store {
    /* Set before the threads start. */
    struct kx_options options;
    struct env *env;
    struct record_cache *cache;
    struct plan_base base; /* of the writer's plans */
    struct watch_set *watches;
    struct tokens *tokens; /* has a lock of its own */
    pthread_t writer;
    pthread_t keeper;
    struct archive *archive; /* or NULL */

    /* Changed by the writer while no view is open; read inside a view. */
    struct catalog *catalog;
    struct view gate;

    /* Under `lock`. */
    pthread_mutex_t lock;
    pthread_cond_t stop;     /* for the checkpointer */
    pthread_cond_t archived; /* for the archiver: to stop */
    bool stopping;
    /* The same, for commit_queue.c. */
    pthread_cond_t work;     /* for the writer: something is in the queue */
    pthread_cond_t returned; /* for the writer: its work is its own again */
    bool working;            /* the writer is at work, on commits or jobs */
    bool lent;               /* another thread does its work */
    struct kx_commit *first; /* waiting commits, in order; or NULL */
    struct kx_commit *last;
    uint32_t queued; /* how many wait */
    struct commit_delay_state
        linger; /* commit_delay.h says which thread may use which member */
    /* The same: tickets that wait. */
    struct kx_ticket *curious; /* for news of indexes */
    struct kx_ticket *parked;  /* replies, for the present flush */

    /* Only for the thread that does the writer's work. */
    struct plan *plan; /* of the last batch: gate points into it */
    struct range *range;
    unsigned doubtful;       /* batches left that must not presume (plan.h) */
    int64_t next_expiry_ms;  /* no entry expires before this */
    size_t job_size;         /* entries per background job */
    struct build_scan *scan; /* of the indexes being built, or NULL */
    bool scan_is_read;       /* and is being written now */
    unsigned scan_shift;     /* it takes less by so many powers of two */
    struct tidy tidy;
    uint64_t last_commit_ns;     /* when the last commits were carried out */
    uint64_t commits_ns;         /* and how long that took */
    uint64_t jobs_rest_until_ns; /* kx_monotonic_ns: one has failed */
    bool news_due;               /* something about an index has changed */
    uint64_t news_told_ns;
    struct touched_keys *touched; /* keys changed during the scan, or NULL */
    struct kx_milestones times;   /* of the present batch */
    uint64_t looked_at_disk_ns;   /* kx_monotonic_ns */

    /* The checkpointer's own. */
    bool no_ballast; /* the file system cannot */

    /* Any thread. */
    atomic_bool disk_full;         /* commits are refused */
    atomic_bool disk_exhausted;    /* those that free space, too */
    atomic_int backups;            /* being made */
    _Atomic uint64_t disk_reserve; /* bytes that commits must leave free */
    _Atomic uint64_t news;         /* about indexes, so far */
    /* What kx_figures tells, by the same names. */
    _Atomic uint64_t stamp;
    _Atomic uint64_t entries;
    _Atomic uint64_t outcomes[KX_STATUS_COUNT]; /* of commits */
    struct kx_histogram commit_times;
    struct kx_histogram flush_times;
    struct kx_histogram batch_sizes;
    _Atomic uint64_t flushes;
    _Atomic uint64_t batch_max;
    _Atomic uint64_t expired;
    _Atomic uint64_t backfilled;
    _Atomic uint64_t resolved;
    _Atomic uint64_t compactions;
    _Atomic uint64_t backup_s;  /* Unix time of the last whole backup */
    _Atomic uint64_t archive_s; /* and when the log was last copied */
};

#endif
