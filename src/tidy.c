/* Giving back the space of half-empty pages, when the entries have grown or
 * shrunk a good deal and nothing else is to do. The first pass compacts the
 * rows; the next ones move pages to the front of the file and shorten it, as
 * long as that gains something.
 */
#include "tidy.h"

#include <inttypes.h>

#include "compact.h"
#include "job.h"
#include "range.h"

enum {
    COMPACT_ROWS = 500, /* of a step: a millisecond of work */
    /* Each step of the other passes goes through the list of free pages, so
     * they are larger. */
    SHRINK_ROWS = 4000,
    PASSES_MAX = 5,
    IDLE_NS = KX_SECOND_NS, /* since the last commit */
    REST = 100,      /* times what a step took, if it kept views waiting */
    PAGES_MIN = 1024 /* smaller files are left alone */
};

/* `pages` is what the next growth is measured against. */
void tidy_reset(struct kx_store *store)
{
    struct tidy *tidy = &store->tidy;
    tidy->pass = 0;
    tidy->resume_size = 0;
    tidy->removed = 0;
    tidy->rest_until_ns = 0;
    tidy->pages = compact_pages(store->env, TABLE_ENTRIES);
}

/* Worth the work: grown by half, or a good part of the rows removed. */
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
 * store. What a backup copies is not moved: its part of the log would grow. */
bool tidy_waiting(struct kx_store *store)
{
    uint64_t now_ns = kx_monotonic_ns();
    if (now_ns - store->last_commit_ns < IDLE_NS ||
        now_ns < store->tidy.rest_until_ns || atomic_load(&store->backups) != 0)
        return false;
    if (store->tidy.pass == 0 && has_changed(store))
        store->tidy.pass = 1;
    return store->tidy.pass != 0;
}

int64_t tidy_due_ms(const struct kx_store *store, int64_t now_ms)
{
    int64_t rest_ms = kx_ms_until(store->tidy.rest_until_ns);
    return rest_ms == 0 ? INT64_MAX : now_ms + rest_ms;
}

/* The key some rows behind the last one, fewer of large ones, but never that
 * one itself; KX_END when the table ends before. */
static enum kx_status find_stop(struct kx_store *store, struct kx_slice start,
                                struct kx_slice *stop_out)
{
    size_t rows = store->tidy.pass == 1 ? COMPACT_ROWS : SHRINK_ROWS;
    struct kx_slice record;
    enum kx_status status = range_begin(store->range, start, kx_slice(NULL, 0));
    for (size_t i = 0;
         status == KX_OK && (i < 2 || job_reads_on(store, i, rows)); i++)
        status = range_next(store->range, stop_out, &record);
    return status;
}

/* In the gate, since pages move under whoever reads them; what is in flight
 * stays as it is. Where somebody reads, compaction has a hundredth of the time:
 * hardly any of them finds the gate closed. */
static enum kx_status compact(struct kx_store *store, struct kx_slice start,
                              struct kx_slice stop)
{
    gate_apply_begin(&store->gate);
    uint64_t began_ns = kx_monotonic_ns();
    enum kx_status status = compact_rows(store->env, TABLE_ENTRIES, start, stop,
                                         store->tidy.pass > 1);
    bool sought = gate_sought(&store->gate);
    gate_apply_cancel(&store->gate);
    uint64_t now_ns = kx_monotonic_ns();
    if (sought)
        store->tidy.rest_until_ns = now_ns + REST * (now_ns - began_ns);
    return status;
}

/* Another pass follows the first, and each that made the file a good deal
 * smaller. */
static void end_pass(struct kx_store *store)
{
    struct tidy *tidy = &store->tidy;
    uint64_t pages = compact_pages(store->env, TABLE_ENTRIES);
    bool shrinks = tidy->pass == 1 || pages + pages / 32 < tidy->pages;
    tidy->resume_size = 0;
    tidy->pages = pages;
    if (shrinks && tidy->pass++ < PASSES_MAX)
        return;
    tidy_reset(store);
    atomic_fetch_add(&store->compactions, 1);
    kx_log(KX_LOG_INFO, "tidied", "pages=%" PRIu64, pages);
}

/* Each step begins where the last ended, by key: rows that came or went
 * meanwhile do no harm. After an error all is begun again some other time. */
void tidy_step(struct kx_store *store)
{
    struct tidy *tidy = &store->tidy;
    uint8_t stop_bytes[ROW_KEY_MAX];
    struct kx_slice start = kx_slice(tidy->resume, tidy->resume_size);
    struct kx_slice stop = kx_slice(NULL, 0);
    enum kx_status status = find_stop(store, start, &stop);
    bool ended = status == KX_END;
    if (status == KX_OK) {
        memcpy(stop_bytes, stop.data, stop.size);
        stop.data = stop_bytes;
    } else {
        stop.size = 0;
    }
    range_end(store->range);
    if (status == KX_OK || ended)
        status = compact(store, start, stop);
    if (status != KX_OK) {
        tidy_reset(store);
        return;
    }
    memcpy(tidy->resume, stop_bytes, stop.size);
    tidy->resume_size = stop.size;
    if (ended)
        end_pass(store);
}
