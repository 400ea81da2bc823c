/* Merges half-empty pages after the entries have grown or shrunk considerably,
 * while the store is idle. Freed pages stay in the file and are used again; the
 * file becomes shorter when the store is closed (compact.h). So a step costs
 * what its rows cost, independent of the number of free pages, and a pass costs
 * a few times what it frees at most. */
#include "store/compact_job.h"

#include <inttypes.h>

#include "bdb/compact.h"
#include "commit/job.h"
#include "bdb/page_check.h"
#include "bdb/range.h"

enum {
    IDLE_NS = KX_SECOND_NS, /* since the last commit */
    REST = 100,       /* times what a step took, if it kept views waiting */
    PAGES_MIN = 1024, /* smaller files are left alone */

    /* Of a step: a tenth of a millisecond of work. */
    STEP_ROWS = 250,
    STEP_BYTES = 32 << 10, /* on the rows' own pages */
    ON_PAGE_MAX = 1024,    /* larger values are on pages of their own */

    /* Upper bound: bytes of log for each freed byte, and what a pass may write
     * in addition before its yield is known. */
    PRICE = 4,
    TRIAL_BYTES = 4 << 20,

    /* So much log is flushed at a time, while views may be open. Otherwise the
     * library would write its whole full buffer while they are kept out. */
    FLUSH_BYTES = 1 << 20
};

/* `pages` is what the next growth is measured against. */
void compact_job_reset(struct kx_store *store)
{
    struct tidy *tidy = &store->tidy;
    tidy->under_way = false;
    tidy->removed = 0;
    tidy->rest_until_ns = 0;
    tidy->freed = 0;
    tidy->logged = 0;
    tidy->pages = compact_pages(store->env, TABLE_ENTRIES);
}

/* Is a pass worth its work? The file has grown by half, or many rows were
 * removed. */
static bool has_changed(struct kx_store *store)
{
    const struct tidy *tidy = &store->tidy;
    uint64_t pages = compact_pages(store->env, TABLE_ENTRIES);
    if (pages < PAGES_MIN)
        return false;
    /* A page holds some ten rows or more. */
    return pages > tidy->pages + tidy->pages / 2 || tidy->removed > pages * 4;
}

/* Compaction keeps readers out while a step lasts, so it waits for an idle
 * store. Nothing is moved during a backup: the log that the backup contains
 * would grow. */
bool compact_job_waiting(struct kx_store *store)
{
    struct tidy *tidy = &store->tidy;
    uint64_t now_ns = kx_monotonic_ns();
    if (now_ns - store->last_commit_ns < IDLE_NS ||
        now_ns < tidy->rest_until_ns || atomic_load(&store->backups) != 0)
        return false;
    tidy->under_way = tidy->under_way || has_changed(store);
    return tidy->under_way;
}

int64_t compact_job_due_ms(const struct kx_store *store, int64_t now_ms)
{
    int64_t rest_ms = kx_ms_until(store->tidy.rest_until_ns);
    return rest_ms == 0 ? INT64_MAX : now_ms + rest_ms;
}

/* The key some rows after `start`, never that row itself; KX_END when the table
 * ends before. */
static enum kx_status find_stop(struct kx_store *store, struct kx_slice start,
                                struct kx_slice *stop_out)
{
    struct kx_slice record;
    size_t bytes = 0;
    enum kx_status status = range_begin(store->range, start, kx_slice(NULL, 0));
    for (size_t i = 0;
         status == KX_OK &&
         (i < 2 || (job_reads_on(store, i, STEP_ROWS) && bytes < STEP_BYTES));
         i++) {
        status = range_next(store->range, stop_out, &record);
        if (status == KX_OK)
            bytes += stop_out->size +
                     (record.size < ON_PAGE_MAX ? record.size : ON_PAGE_MAX);
    }
    return status;
}

/* No view is open, since pages move under the readers; the keys in flight stay
 * as they are. When readers wait, compaction gets a hundredth of the time, so
 * that few of them have to wait. */
static enum kx_status compact(struct kx_store *store, struct compact_step *step)
{
    view_apply_begin(&store->gate);
    uint64_t began_ns = kx_monotonic_ns();
    enum kx_status status = compact_rows(store->env, TABLE_ENTRIES, step);
    bool sought = view_sought(&store->gate);
    view_apply_cancel(&store->gate);
    uint64_t now_ns = kx_monotonic_ns();
    if (sought)
        store->tidy.rest_until_ns = now_ns + REST * (now_ns - began_ns);
    return status;
}

/* A pass that writes too much log for the pages that it frees ends early. The
 * next pass begins at that key. */
static void end_pass(struct kx_store *store)
{
    const struct tidy *tidy = &store->tidy;
    kx_log(KX_LOG_INFO, "tidied",
           "pages=%" PRIu64 " freed_pages=%" PRIu64 " log_bytes=%" PRIu64,
           compact_pages(store->env, TABLE_ENTRIES), tidy->freed, tidy->logged);
    compact_job_reset(store);
    atomic_fetch_add(&store->compactions, 1);
}

static bool is_dear(const struct tidy *tidy)
{
    return tidy->logged > PRICE * tidy->freed * PAGE_BYTES + TRIAL_BYTES;
}

static enum kx_status flush_some(struct kx_store *store, uint64_t logged)
{
    struct tidy *tidy = &store->tidy;
    tidy->unflushed += logged;
    if (tidy->unflushed < FLUSH_BYTES)
        return KX_OK;
    tidy->unflushed = 0;
    return env_flush(store->env);
}

/* The next step, or pass, begins at this key. */
static void go_on_from(struct kx_store *store, struct kx_slice key)
{
    memcpy(store->tidy.resume, key.data, key.size);
    store->tidy.resume_size = key.size;
}

/* Each step begins at the key where the last ended: rows that were added or
 * removed meanwhile do no harm. After an error the job starts over at a later
 * time. */
void compact_job_step(struct kx_store *store)
{
    struct tidy *tidy = &store->tidy;
    uint8_t stop_bytes[ROW_KEY_MAX];
    struct kx_slice stop = kx_slice(NULL, 0);
    struct compact_step step = {.stop = kx_slice(stop_bytes, 0)};
    step.start = kx_slice(tidy->resume, tidy->resume_size);
    enum kx_status status = find_stop(store, step.start, &stop);
    if (status == KX_OK) {
        memcpy(stop_bytes, stop.data, stop.size);
        step.stop.size = stop.size;
    }
    range_end(store->range);
    if (status == KX_OK || status == KX_END)
        status = compact(store, &step);
    if (status == KX_OK)
        status = flush_some(store, step.logged);
    if (status != KX_OK) {
        compact_job_reset(store);
        return;
    }
    tidy->freed += step.freed;
    tidy->logged += step.logged;
    bool early = step.next_size != 0;
    go_on_from(store, early ? kx_slice(step.next, step.next_size) : step.stop);
    if (tidy->resume_size == 0 || is_dear(tidy))
        end_pass(store);
}
