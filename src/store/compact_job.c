/* Merges half-empty pages after the entries have grown or shrunk considerably,
 * while the store is idle. Freed pages stay in the file and are reused; the
 * file becomes shorter when the store is closed (compact.h). So a step costs as
 * much as its rows, however many pages are free, and a pass costs at most a few
 * times what it frees. */
#include "store/compact_job.h"

#include <inttypes.h>
#include <talloc.h>

#include "bdb/compact.h"
#include "commit/job.h"
#include "bdb/page_check.h"
#include "storage/env.h"
#include "engine/engine.h"
#include "commit/store_stats.h"
#include "commit/view.h"

enum {
    IDLE_NS = KX_SECOND_NS, /* since the last commit */
    PAUSE = 100,      /* times as long as a step that kept views waiting */
    PAGES_MIN = 1024, /* smaller files are not compacted */

    /* One step: a tenth of a millisecond of work. */
    STEP_ROWS = 250,
    STEP_BYTES = 32 << 10, /* on the rows' own pages */
    ON_PAGE_MAX = 1024,    /* larger values have separate pages */

    /* Upper bounds: bytes of log per freed byte, and what a pass may write in
     * addition before its yield is known. */
    PRICE = 4,
    TRIAL_BYTES = 4 << 20,

    /* Log is flushed in pieces of this size, while views may be open. Otherwise
     * the library would write a full buffer while it keeps them out. */
    FLUSH_BYTES = 1 << 20
};

/* The progress of the compaction. */
struct compaction {
    struct writer *writer;
    struct env *env;
    struct engine_range *range;
    struct view *view;
    const atomic_int *backups; /* number of backups in progress */
    bool under_way;
    uint64_t pages;              /* of the file after the last pass */
    uint64_t freed;              /* pages, in this pass */
    uint64_t logged;             /* bytes of log, in this pass */
    uint64_t unflushed;          /* bytes of log, of the last steps */
    uint8_t resume[ROW_KEY_MAX]; /* the next row; kept from pass to pass */
    size_t resume_size;          /* 0: the first row */
    uint64_t pause_until_ns;     /* kx_monotonic_ns; lets readers in */
};

struct compaction *compact_job_create(void *mem, struct env *env,
                                      struct writer *writer,
                                      const atomic_int *backups)
{
    struct compaction *compaction = talloc_zero(mem, struct compaction);
    if (compaction != NULL) {
        compaction->writer = writer;
        compaction->env = env;
        compaction->range = writer->base.range;
        compaction->view = writer->view;
        compaction->backups = backups;
    }
    return compaction;
}

/* `pages` is the size from which the next growth is measured. */
void compact_job_reset(struct compaction *compaction)
{
    compaction->under_way = false;
    compaction->writer->removed_rows = 0;
    compaction->pause_until_ns = 0;
    compaction->freed = 0;
    compaction->logged = 0;
    compaction->pages = compact_pages(compaction->env, TABLE_ENTRIES);
}

/* Returns whether a pass is worth its work: the file has grown by half, or many
 * rows were removed. */
static bool has_changed(struct compaction *compaction)
{
    uint64_t pages = compact_pages(compaction->env, TABLE_ENTRIES);
    if (pages < PAGES_MIN)
        return false;
    /* A page holds at least about ten rows. */
    return pages > compaction->pages + compaction->pages / 2 ||
           compaction->writer->removed_rows > pages * 4;
}

/* Compaction keeps readers out during a step, so it waits for an idle store.
 * Nothing is moved during a backup, because the log in the backup would grow.
 */
bool compact_job_waiting(struct compaction *compaction)
{
    uint64_t now_ns = kx_monotonic_ns();
    if (now_ns - compaction->writer->last_commit_ns < IDLE_NS ||
        now_ns < compaction->pause_until_ns ||
        atomic_load(compaction->backups) != 0)
        return false;
    compaction->under_way = compaction->under_way || has_changed(compaction);
    return compaction->under_way;
}

int64_t compact_job_due_ms(const struct compaction *compaction, int64_t now_ms)
{
    int64_t pause_ms = kx_ms_until(compaction->pause_until_ns);
    return pause_ms == 0 ? INT64_MAX : now_ms + pause_ms;
}

/* Finds the key some rows after `start`, never that row itself. KX_END: the
 * table ends before that. */
static enum kx_status find_stop(struct compaction *compaction,
                                struct kx_slice start,
                                struct kx_slice *stop_out)
{
    struct kx_slice record;
    size_t bytes = 0;
    enum kx_status status =
        engine_range_begin(compaction->range, start, kx_slice(NULL, 0));
    for (size_t i = 0;
         status == KX_OK &&
         (i < 2 || (job_reads_on(compaction->range, i, STEP_ROWS) &&
                    bytes < STEP_BYTES));
         i++) {
        status = engine_range_next(compaction->range, stop_out, &record);
        if (status == KX_OK)
            bytes += stop_out->size +
                     (record.size < ON_PAGE_MAX ? record.size : ON_PAGE_MAX);
    }
    return status;
}

/* No view may be open, because pages move under the readers; no key changes. If
 * readers wait, compaction gets a hundredth of the time, so that few of them
 * have to wait. */
static enum kx_status compact(struct compaction *compaction,
                              struct compact_step *step)
{
    view_apply_begin(compaction->view);
    uint64_t began_ns = kx_monotonic_ns();
    enum kx_status status = compact_rows(compaction->env, TABLE_ENTRIES, step);
    bool requested = view_was_requested(compaction->view);
    view_apply_cancel(compaction->view);
    uint64_t now_ns = kx_monotonic_ns();
    if (requested)
        compaction->pause_until_ns = now_ns + PAUSE * (now_ns - began_ns);
    return status;
}

/* Ends a pass early if it writes too much log for the pages that it frees. The
 * next pass begins at that key. */
static void end_pass(struct compaction *compaction)
{
    kx_log(KX_LOG_INFO, "tidied",
           "pages=%" PRIu64 " freed_pages=%" PRIu64 " log_bytes=%" PRIu64,
           compact_pages(compaction->env, TABLE_ENTRIES), compaction->freed,
           compaction->logged);
    compact_job_reset(compaction);
    atomic_fetch_add(&compaction->writer->stats->compactions, 1);
}

static bool is_dear(const struct compaction *compaction)
{
    return compaction->logged >
           PRICE * compaction->freed * PAGE_BYTES + TRIAL_BYTES;
}

static enum kx_status flush_some(struct compaction *compaction, uint64_t logged)
{
    compaction->unflushed += logged;
    if (compaction->unflushed < FLUSH_BYTES)
        return KX_OK;
    compaction->unflushed = 0;
    return env_flush(compaction->env);
}

/* Makes the next step or pass begin at this key. */
static void go_on_from(struct compaction *compaction, struct kx_slice key)
{
    memcpy(compaction->resume, key.data, key.size);
    compaction->resume_size = key.size;
}

/* Each step begins at the key where the last one ended; rows added or removed
 * meanwhile are harmless. After an error the job starts over later. */
void compact_job_step(struct compaction *compaction)
{
    uint8_t stop_bytes[ROW_KEY_MAX];
    struct kx_slice stop = kx_slice(NULL, 0);
    struct compact_step step = {.stop = kx_slice(stop_bytes, 0)};
    step.start = kx_slice(compaction->resume, compaction->resume_size);
    enum kx_status status = find_stop(compaction, step.start, &stop);
    if (status == KX_OK) {
        memcpy(stop_bytes, stop.data, stop.size);
        step.stop.size = stop.size;
    }
    engine_range_end(compaction->range);
    if (status == KX_OK || status == KX_END)
        status = compact(compaction, &step);
    if (status == KX_OK)
        status = flush_some(compaction, step.logged);
    if (status != KX_OK) {
        compact_job_reset(compaction);
        return;
    }
    compaction->freed += step.freed;
    compaction->logged += step.logged;
    bool early = step.next_size != 0;
    go_on_from(compaction,
               early ? kx_slice(step.next, step.next_size) : step.stop);
    if (compaction->resume_size == 0 || is_dear(compaction))
        end_pass(compaction);
}
