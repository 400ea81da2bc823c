/* The open store: what each of its modules keeps, and the structures that they
 * share. Any thread may use a module by its functions, but the writer's state
 * only the thread that does the writer's work. */
#ifndef STORE_STATE_H
#define STORE_STATE_H

#include "commit/commit_queue.h"
#include "commit/store_stats.h"
#include "commit/index_waiters.h"
#include "commit/flush.h"
#include "commit/view.h"
#include "commit/writer_state.h"

struct kx_store {
    struct kx_options options;
    struct env *env; /* the data directory, beneath `engine`; NULL: there is
                      * none, and the next three are NULL as well */
    struct engine *engine;
    struct record_cache *cache;
    struct catalog *catalog; /* changed by the writer while no view is open;
                              * read inside a view */
    struct view view;
    struct commit_queue queue;
    struct flush flush;
    struct index_waiters waiters;
    struct store_stats stats;
    struct writer writer;
    atomic_int backups;  /* being made */
    atomic_bool closing; /* kx_close_begin was called */
    bool started;        /* the writer runs */
    /* Modules that keep their state to themselves; set before the threads
     * start. */
    struct watch_set *watches;
    struct tokens *tokens;
    struct tokens *followed; /* of followers; NULL: a data directory */
    struct compaction *compaction;
    struct checkpointer *checkpointer;
    struct page_walk *unchecked;   /* pages that the start has left out */
    struct archive *archive;       /* NULL as well without an archive */
    struct archive_follow *follow; /* NULL unless it follows an archive */
};

#endif
