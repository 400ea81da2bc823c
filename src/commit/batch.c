/* From a planned batch to one transaction.
 *
 * The rows of entries are gathered before view_apply_begin, so that readers are
 * kept out only while rows are written. After it, the rows of a large batch are
 * applied slice by slice, except the last slice (batch_slices.c). Then the
 * catalog in memory changes, because its rows are written from it; then the
 * remaining rows are applied; then cache and lists follow. When the transaction
 * fails, the catalog gets its old values back before views are let in: no view
 * ever sees a state that was not applied. Glances continue until the rows are
 * applied, unless the batch changes a part of the catalog that they read. */
#include "commit/batch.h"

#include <malloc.h>
#include <talloc.h>

#include "commit/batch_catalog.h"
#include "commit/batch_rows.h"
#include "commit/batch_slices.h"
#include "commit/store_counters.h"
#include "commit/index_news.h"
#include "commit/touched_keys.h"
#include "commit/view.h"
#include "commit/watch.h"
#include "plan/plan_retry.h"

enum {
    PLAN_KEPT_MAX = 16 << 20 /* bytes of a plan that stays until the next */
};

/* Rows that no reader can have asked for since build_merge.c made the cache
 * forget them. Rows of a successor can have been read, under the name that
 * still belongs to its predecessor. */
static bool are_unread(const struct batch *batch)
{
    return batch->new_index_rows && batch->index->replaces == 0;
}

/* No view is open, and the rows are applied: what is in memory follows the
 * tables. The cache takes clients' records; of indexes it only replaces the
 * records that it has. */
static void publish(struct writer *writer, const struct rows *rows,
                    const struct batch *batch)
{
    if (!are_unread(batch))
        batch_note_rows(writer, rows, rows->applied, rows->count, true);
    batch_catalog_rearrange(writer->base.catalog, batch);
    if (batch->plan != NULL)
        atomic_fetch_add_explicit(&writer->counters->outcome_bytes,
                                  (uint64_t)plan_retry_bytes(batch->plan),
                                  memory_order_relaxed);
    atomic_store_explicit(&writer->counters->stamp, writer->base.catalog->stamp,
                          memory_order_relaxed);
    atomic_store_explicit(&writer->counters->entries,
                          writer->base.catalog->entries, memory_order_relaxed);
}

/* Views are let in while the batch is flushed, with the catalog as it was.
 * After a failed flush it is not known whether the batch is on disk. */
static enum kx_status flush_unseen(struct writer *writer)
{
    view_apply_cancel(writer->view);
    enum kx_status status = engine_flush(writer->base.engine);
    view_apply_begin(writer->view);
    view_publish(writer->view);
    return status == KX_OK ? KX_OK : KX_UNKNOWN;
}

/* Does the batch change more of the catalog than its counts, which glances do
 * not read? */
static bool changes_catalog(const struct batch *batch)
{
    const struct plan *plan = batch->plan;
    if (batch->index != NULL)
        return true;
    for (size_t i = 0; plan != NULL && i < plan->total_count; i++)
        if (plan->totals[i].conflicts != 0)
            return true;
    return false;
}

/* No view is open: the catalog takes its new state before its rows are written
 * from it. The slices that were applied before belong to the same transaction.
 */
static enum kx_status apply_last(struct writer *writer, struct rows *rows,
                                 struct batch *batch, struct former *former)
{
    enum row_order order =
        batch->plan == NULL ? ROWS_NEIGHBOURS : ROWS_SCATTERED;
    if (changes_catalog(batch))
        view_publish(writer->view);
    batch_catalog_change(writer->base.catalog, batch, former);
    batch_rows_add_catalog(rows, writer->base.catalog, batch);
    if (rows->failed) {
        engine_take_back(writer->base.engine);
        return KX_NO_MEMORY;
    }
    struct engine_batch last = {.writes = rows->list + rows->applied,
                                .count = rows->count - rows->applied,
                                .order = order,
                                .stamp = writer->base.catalog->stamp};
    return engine_apply(writer->base.engine, &last);
}

/* No view is open: applies everything but the slices. The catalog gets its old
 * state back when the transaction fails. */
static enum kx_status apply_rest(struct writer *writer, struct rows *rows,
                                 struct batch *batch)
{
    struct former first; /* large: filled only as far as it is used */
    struct former *former = &first;
    if (batch->also_count > 0)
        former = talloc_array(rows->mem, struct former,
                              (unsigned)batch->also_count + 1);
    if (former == NULL) {
        engine_take_back(writer->base.engine);
        return KX_NO_MEMORY;
    }
    enum kx_status status = apply_last(writer, rows, batch, former);
    if (status == KX_OK && batch->durable) {
        batch_catalog_restore(writer->base.catalog, batch, former);
        status = flush_unseen(writer);
        batch_catalog_change(writer->base.catalog, batch, former);
    }
    view_publish(writer->view);
    if (status == KX_OK)
        publish(writer, rows, batch);
    else
        batch_catalog_restore(writer->base.catalog, batch, former);
    return status;
}

/* Notes the batch for watches and waiters for index news. Their tickets are
 * answered later: those of watches with the next answers (watch.h). */
static void announce(struct writer *writer, const struct batch *batch,
                     const struct rows *rows)
{
    bool resolved = plan_resolves(batch->plan);
    if (resolved)
        watch_note_all(writer->watches);
    watch_batch(writer->watches, batch, rows->list, rows->count);
    if (resolved || batch->action != CATALOG_KEEP)
        index_news_note(writer->news);
}

/* The previous plan is freed only when the view points to the keys of the new
 * one: until then a reader may compare with the old keys. */
enum kx_status batch_apply(struct writer *writer, struct batch *batch,
                           uint64_t *number_out)
{
    struct rows rows = {.mem = talloc_new(NULL)};
    batch_catalog_note(writer->base.catalog, batch);
    size_t net_count = 0;
    struct net_change *net =
        batch->plan ? overlay_net(batch->plan->overlay, &net_count) : NULL;
    if (rows.mem == NULL || (net == NULL && net_count != 0)) {
        talloc_free(rows.mem);
        return KX_NO_MEMORY;
    }
    size_t settled = 0;
    enum kx_status status =
        batch_settle(writer->base.range, batch->plan, net, net_count, &settled);
    if (status != KX_OK) {
        talloc_free(rows.mem);
        return status;
    }
    batch_rows_add(&rows, writer, batch, net, net_count);
    struct engine_batch next = {.writes = rows.list, .count = rows.count};
    engine_prepare(writer->base.engine, &next);
    struct plan *last = writer->plan;
    view_apply_begin(writer->view);
    if (!rows.failed)
        status = batch_apply_slices(writer, &rows, net, settled);
    if (status == KX_OK)
        status = apply_rest(writer, &rows, batch);
    if (status == KX_OK) {
        *number_out = view_apply_end(writer->view, net, net_count);
        if (writer->touched != NULL)
            touched_keys_note(writer->touched, net, net_count);
        for (struct change_listener *at = writer->listeners; at != NULL;
             at = at->next)
            at->note(at, net, net_count);
        announce(writer, batch, &rows);
        writer->plan = batch->plan;
        if (last != batch->plan)
            talloc_free(last);
    } else {
        view_apply_cancel(writer->view);
    }
    talloc_free(rows.mem);
    return status;
}

/* The allocator keeps the small pieces of a plan in its heaps: they are given
 * back to the system here. */
void batch_release(struct writer *writer)
{
    if (writer->plan == NULL ||
        overlay_bytes(writer->plan->overlay) < PLAN_KEPT_MAX)
        return;
    view_forget_keys(writer->view);
    talloc_free(writer->plan);
    writer->plan = NULL;
    malloc_trim(0);
}
