/* The state that the commands, jobs and batches of a store share. Only the
 * thread that does the writer's work may use it: the writer, or a caller that
 * has borrowed the work (commit_queue.h). */
#ifndef WRITER_STATE_H
#define WRITER_STATE_H

#include <pthread.h>

#include "plan/plan.h"

struct build_scan;
struct build_set;
struct commit_queue;
struct store_stats;
struct index_waiters;
struct flush;
struct tokens;
struct changed_keys;
struct view;
struct watch_set;

/* A job that has to know what batches change while it lasts. Called with the
 * changes of each one, after it is applied. It must not be taken off the list
 * meanwhile. */
struct change_listener {
    struct change_listener *next;
    void (*note)(struct change_listener *listener,
                 const struct net_change *changes, size_t count);
};

struct writer {
    /* Set before the thread starts. */
    pthread_t thread;
    struct plan_base base; /* of the plans: env, cache, catalog, range */
    struct view *view;
    struct flush *flush;
    struct commit_queue *queue;
    struct watch_set *watches;
    struct index_waiters *waiters;
    struct store_stats *stats;
    struct tokens *tokens;
    bool unpaced; /* kx_options */
    /* Batches. */
    struct plan *plan;      /* plan of the last batch: view points into it */
    unsigned pessimistic;   /* batches left without optimistic assumptions */
    int64_t next_expiry_ms; /* no entry, and no outcome, expires before this */
    uint64_t removed_rows;  /* of entries, since compact_job_reset */
    struct changed_keys *changed_keys; /* during builds, or NULL */
    struct change_listener *listeners; /* counts of builds and verifications */
    struct {
        struct kx_buffer kept; /* the first row to read: after the rows of
                                * expired entries that rules keep; empty: at the
                                * first row */
        int64_t retry_ms;      /* when to try these again; 0: none is kept */
    } expiry;                  /* store/expire_job.c */
    /* Jobs. */
    size_t job_size;              /* entries per step */
    uint64_t last_commit_ns;      /* when the last commits were carried out */
    uint64_t commits_ns;          /* and how long that took */
    uint64_t jobs_pause_until_ns; /* kx_monotonic_ns: one has failed */
    struct {
        size_t memory;           /* bytes of rows before they go to the disk */
        const char *directory;   /* and where */
        uint64_t disk_floor;     /* bytes that commits leave free there */
        struct build_set *set;   /* of all indexes being built, or NULL */
        struct build_scan *scan; /* that reads for some of them, or NULL */
        bool without_disk;       /* there is no room, or it has failed */
        uint64_t unshown;        /* entries and rows since progress was shown */
        uint64_t written;        /* rows since reading ended, */
        uint64_t writing_ns;     /* which was at that time */
    } build;                     /* builds/build_job.c */
};

#endif
