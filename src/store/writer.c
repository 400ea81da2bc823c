/* The writer thread's loop.
 *
 * A batch goes through four steps, always in this order: plan (plan.c, in
 * memory only), apply (batch.c, one transaction without a sync), flush (one
 * sync of the log), answer. If an optimistic assumption proves wrong (found
 * before anything is written), plan and apply run once more.
 *
 * A crash before the flush has ended leaves the whole batch or nothing of it.
 * No client has been told or shown anything of the batch by then: replies that
 * would show it are parked until the flush. A crash between flush and answer
 * leaves commits that are stored, although their senders do not know. After the
 * answer the commits are permanent. */
#include "store/writer.h"

#include <talloc.h>

#include "commit/batch.h"
#include "engine/engine.h"
#include "indexes/declare.h"
#include "indexes/declare_set.h"
#include "plan/plan_idempotency.h"
#include "store/job_scheduler.h"
#include "indexes/migrate.h"
#include "commit/index_waiters.h"
#include "commit/commit_queue.h"
#include "commit/flush.h"
#include "store/compact_job.h"
#include "store/tokens.h"
#include "indexes/verify.h"

enum {
    /* A batch takes the waiting commits, up to a number and a cost: under load
     * it grows by itself while the previous one is flushed; otherwise see
     * commit_queue.h. */
    BATCH_COMMITS_MAX = 4096,
    BATCH_UNITS_MAX = COMMIT_LONG_UNITS,
    COMMAND_UNITS = 5000000, /* charged for a command, which has a batch and a
                              * flush of its own */
    PREFETCH_COMMITS = 1024,
    ALONE_ROWS_MAX = 4096, /* of a commit on the caller's thread: a few ms */
    ALONE_BYTES_MAX = 4 << 20, /* of the commit's values, for each index that
                                * reads them */
    ALONE_PATCH_MAX = 1024,    /* bytes of its operations on a value */
    PESSIMISTIC_BATCHES = 64,  /* without optimistic assumptions, after one
                                * proved wrong */
    JOB_SIZE = 256,            /* entries of the first background job */
    IDLE_WAIT_MS = 1000 /* interval at which an idle writer reads the clock */
};

/* A declaration changes the catalog, which other plans depend on, and a change
 * of a range is long: such a commit is a batch alone. */
static bool stands_alone(const struct kx_commit *commit)
{
    return commit->command.kind != KX_WRITE ||
           (commit->mutation_count > 0 &&
            kx_mutates_range(&commit->mutations[0]));
}

static bool checks_range(const struct kx_commit *commit)
{
    for (size_t i = 0; i < commit->check_count; i++)
        if (kx_check_of_range(&commit->checks[i]))
            return true;
    return false;
}

static bool removes(const struct kx_mutation *mutation)
{
    return mutation->type == KX_DELETE || mutation->type == KX_ACK ||
           mutation->type == KX_FAIL;
}

/* Returns whether the commit may have to look for referring entries: it may
 * remove a target of a reference, or add one while a rule is not ready. */
static bool follows_references(const struct writer *writer,
                               const struct kx_commit *commit)
{
    const struct catalog *catalog = writer->base.catalog;
    size_t count = catalog->rule_count > 0 ? commit->mutation_count : 0;
    for (size_t i = 0; i < count; i++) {
        const struct kx_mutation *mutation = &commit->mutations[i];
        if (catalog_is_target(catalog,
                              mutation->by != NULL ? kx_slice(NULL, 0)
                                                   : mutation->key,
                              !removes(mutation)))
            return true;
    }
    return false;
}

/* Returns whether the commit reads the table itself, not the overlay, so that
 * no earlier commit of its batch may have changed it. */
static bool reads_table(const struct writer *writer,
                        const struct kx_commit *commit)
{
    return checks_range(commit) || follows_references(writer, commit);
}

/* A commit that reads the table begins a batch. A commit that may take long
 * also begins one, so that no earlier commit waits for it to be answered. */
static bool fits(struct writer *writer, const struct plan *plan,
                 const struct kx_commit *commit)
{
    return !stands_alone(commit) &&
           (overlay_size(plan->overlay) == 0 || !reads_table(writer, commit)) &&
           !commit_queue_expects_long(writer->queue, commit);
}

static bool is_full(const struct plan *plan, size_t count)
{
    return count >= BATCH_COMMITS_MAX || plan->units >= BATCH_UNITS_MAX;
}

/* Prefetches what the commits of the list need, and those that wait. `planned`
 * commits are planned already; returns at how many to prefetch again. */
static size_t prefetch(struct writer *writer, struct plan *plan,
                       const struct kx_commit *list, size_t planned)
{
    if (!engine_prefetches(plan->view))
        return SIZE_MAX;
    const struct kx_commit **commits =
        talloc_array(plan, const struct kx_commit *, PREFETCH_COMMITS);
    if (commits == NULL)
        return SIZE_MAX;
    size_t count = 0;
    for (; list != NULL && count < PREFETCH_COMMITS; list = list->next)
        commits[count++] = list;
    count += commit_queue_list(writer->queue, commits + count,
                               PREFETCH_COMMITS - count);
    count = plan_prefetch_commits(plan, commits, count);
    talloc_free(commits);
    return planned + count;
}

/* Plans the commits of the list, then those whose turn it is, which are
 * appended, on one plan: each sees the changes of those before it. Returns how
 * many were planned. */
static size_t plan_batch(struct writer *writer, struct plan *plan,
                         struct kx_commit *list)
{
    struct kx_commit *commit = list;
    size_t count = 0;
    size_t prefetched = 0;
    while (commit != NULL) {
        if (count >= prefetched)
            prefetched = prefetch(writer, plan, commit, count);
        plan_commit(plan, commit);
        commit_queue_charge(writer->queue, commit, plan->charge.spent);
        count++;
        if (commit->next == NULL && !stands_alone(list) &&
            !is_full(plan, count)) {
            const struct kx_commit *next = commit_queue_next(writer->queue);
            if (next != NULL && fits(writer, plan, next))
                commit->next = commit_queue_pop(writer->queue);
        }
        commit = commit->next;
    }
    return count;
}

static bool held(const struct kx_commit *commit)
{
    bool replayed =
        commit->idempotency != NULL && commit->idempotency->replayed;
    return commit->status == KX_OK && kx_commit_changes(commit) && !replayed;
}

/* Sets the status of commits of the list whose batch was not applied, or
 * perhaps not stored. This concerns every commit that held so far, or was
 * refused with a stored outcome, and all commits planned after the first of
 * these: a refusal, or the result of a dry run, may show an entry that is not
 * stored. Those later commits have certainly stored nothing themselves. */
static void fail_all(struct kx_commit *list, enum kx_status status)
{
    bool after_change = false;
    for (struct kx_commit *commit = list; commit != NULL;
         commit = commit->next) {
        after_change =
            after_change || held(commit) ||
            (commit->idempotency != NULL && !commit->idempotency->replayed);
        if (!after_change)
            continue;
        commit->status =
            held(commit) || status != KX_UNKNOWN ? status : KX_FAILED;
        kx_fail(&commit->refusal.fault, commit->status, "%s",
                kx_status_title(commit->status));
    }
}

static void count_batch(struct store_stats *stats, size_t size)
{
    kx_histogram_add(&stats->batch_sizes, KX_SIZES, size);
    if (size > atomic_load_explicit(&stats->batch_max, memory_order_relaxed))
        atomic_store_explicit(&stats->batch_max, size, memory_order_relaxed);
}

/* Resets the commits to their state before planning. */
static void forget_results(struct kx_commit *list)
{
    for (struct kx_commit *commit = list; commit != NULL;
         commit = commit->next) {
        commit->status = KX_OK;
        commit->stamp = 0;
        commit->refusal = (struct kx_refusal){.check_count = 0};
        commit->created = false;
        commit->in_range = 0;
        commit->more = false;
        commit->last = kx_slice(NULL, 0);
    }
}

/* Plans and applies one batch of the commits of the list and those that
 * plan_batch appends. KX_CHECK_FAILED: an optimistic assumption was wrong;
 * nothing has changed and no commit has a result. */
static enum kx_status try_batch(struct writer *writer, struct kx_commit *list,
                                uint64_t *number_out)
{
    struct plan *plan = plan_create(&writer->base);
    if (plan == NULL)
        return list->status = kx_fail(&list->refusal.fault, KX_NO_MEMORY,
                                      "no memory for this commit");
    enum kx_status status = KX_OK;
    plan->optimistic = writer->pessimistic == 0;
    size_t count = plan_batch(writer, plan, list);
    writer->flush->times.planned_ns = kx_monotonic_ns();
    struct batch batch = {.plan = plan, .stamp = plan->stamp};
    bool changes = plan_changes(plan);
    if (changes)
        status = batch_apply(writer, &batch, number_out);
    if (status == KX_CHECK_FAILED)
        forget_results(list);
    else
        count_batch(writer->stats, count);
    if (!changes || status != KX_OK)
        talloc_free(plan);
    return status;
}

/* Plans and applies a batch of KX_WRITE commits and sets their results.
 * *number_out stays unchanged if nothing has changed, because there is then
 * nothing to flush. */
static void write_entries(struct writer *writer, struct kx_commit *list,
                          uint64_t *number_out)
{
    enum kx_status status = try_batch(writer, list, number_out);
    if (status == KX_CHECK_FAILED) {
        writer->pessimistic = PESSIMISTIC_BATCHES;
        status = try_batch(writer, list, number_out);
    } else if (writer->pessimistic > 0) {
        writer->pessimistic--;
    }
    if (status != KX_OK)
        fail_all(list, status);
}

/* Carries out a command and sets its result. *number_out is the batch to flush,
 * unchanged if nothing was applied. */
typedef void command_fn(struct writer *writer, struct kx_commit *commit,
                        uint64_t *number_out);

static command_fn *const COMMANDS[] = {
    [KX_DECLARE_INDEX] = declare_index, [KX_DROP_INDEX] = declare_drop,
    [KX_DECLARE_INDEXES] = declare_set, [KX_MIGRATE_INDEX] = migrate_begin,
    [KX_UNDO_MIGRATION] = migrate_undo, [KX_PACE_INDEX] = declare_throttle,
    [KX_VERIFY_INDEX] = verify_begin,   [KX_ADD_TOKEN] = tokens_add,
    [KX_REVOKE_TOKEN] = tokens_revoke,  [KX_DECLARE_RULE] = declare_rule,
    [KX_DROP_RULE] = declare_rule_drop,
};

/* Takes one batch through all four steps. It begins with this commit, whose
 * `next` is NULL. */
static void run_batch(struct writer *writer, struct kx_commit *list)
{
    uint64_t number = 0;
    writer->flush->times =
        (struct kx_milestones){.begun_ns = kx_monotonic_ns()};
    if (list->command.kind == KX_WRITE) {
        write_entries(writer, list, &number);
    } else {
        COMMANDS[list->command.kind](writer, list, &number);
        commit_queue_charge(writer->queue, list, COMMAND_UNITS);
    }
    if (number != 0) {
        enum kx_status status = flush_batch(writer->flush, number);
        if (status != KX_OK)
            fail_all(list, status);
    }
    flush_answer(writer->flush, list);
}

/* Values are read by each index; operations may pass the whole value. */
static bool has_short_values(const struct writer *writer,
                             const struct kx_commit *commit)
{
    size_t bytes = 0;
    for (size_t i = 0; i < commit->mutation_count; i++) {
        const struct kx_mutation *mutation = &commit->mutations[i];
        if (mutation->type == KX_JSON_PATCH &&
            mutation->value.data.size > ALONE_PATCH_MAX)
            return false;
        bytes += mutation->value.data.size;
    }
    return bytes * (writer->base.catalog->count + 1) <= ALONE_BYTES_MAX;
}

/* Returns whether the commit is short, whatever entries and indexes exist: the
 * calling thread has other work to do. */
static bool is_short(const struct writer *writer,
                     const struct kx_commit *commit)
{
    return !stands_alone(commit) && !reads_table(writer, commit) &&
           has_short_values(writer, commit) &&
           commit->mutation_count *
                   catalog_rows_per_change(writer->base.catalog) <=
               ALONE_ROWS_MAX;
}

/* Takes a batch of the waiting commits, if any, and records how long it took,
 * which limits the steps of jobs. */
static void run_next_batch(struct writer *writer)
{
    struct kx_commit *first = commit_queue_pop(writer->queue);
    if (first == NULL)
        return;
    uint64_t began_ns = kx_monotonic_ns();
    run_batch(writer, first);
    batch_release(writer);
    writer->last_commit_ns = kx_monotonic_ns();
    writer->commits_ns = writer->last_commit_ns - began_ns;
}

enum kx_status kx_submit_alone(struct kx_store *store, struct kx_commit *commit)
{
    struct writer *writer = &store->writer;
    /* After a declaration the writer must begin the build. And the caller must
     * not wait for another machine. */
    if (commit->command.kind != KX_WRITE || engine_remote(store->engine) ||
        store->options.archive_sync ||
        !commit_queue_borrow(&store->queue, commit))
        return commit_queue_submit(&store->queue, commit);
    if (!is_short(writer, commit)) {
        commit_queue_give_back(&store->queue, writer->waiters->due);
        return commit_queue_submit(&store->queue, commit);
    }
    commit->next = NULL;
    writer->last_commit_ns = kx_monotonic_ns();
    commit->times.submitted_ns = writer->last_commit_ns;
    int64_t expiry_ms = writer->next_expiry_ms;
    run_batch(writer, commit);
    /* Wakes the writer if a job is due earlier, or if index waiters must be
     * answered. */
    commit_queue_give_back(&store->queue, writer->next_expiry_ms < expiry_ms ||
                                              writer->waiters->due);
    return KX_OK;
}

/* Returns until when (kx_monotonic_ns) the writer may sleep: 0 if it has `more`
 * work; otherwise until the next job, or until the clock is read next. Tests
 * can set that clock, and compaction becomes due with time. */
static uint64_t sleep_limit_ns(const struct kx_store *store, bool more)
{
    if (more)
        return 0;
    int64_t wait_ms = job_scheduler_due_ms(store) - kx_now_ms();
    int64_t pause_ms = job_scheduler_pause_ms(store);
    if (wait_ms < pause_ms)
        wait_ms = pause_ms;
    if (wait_ms > IDLE_WAIT_MS)
        wait_ms = IDLE_WAIT_MS;
    if (wait_ms < 1)
        wait_ms = 1;
    return kx_monotonic_ns() + (uint64_t)wait_ms * KX_MS_NS;
}

/* Commands are carried out before the next step of a job: builds that are
 * declared or resumed together share a scan if none of them has begun alone. */
static bool command_waits(const struct writer *writer)
{
    const struct kx_commit *next = commit_queue_next(writer->queue);
    return next != NULL && next->command.kind != KX_WRITE;
}

static void *run(void *argument)
{
    struct kx_store *store = argument;
    pthread_setname_np(pthread_self(), "writer");
    store->writer.job_size = JOB_SIZE;
    kx_buffer_init(&store->writer.expiry.kept, NULL);
    if (store->compaction != NULL)
        compact_job_reset(store->compaction);
    bool more = job_scheduler_waiting(store);
    while (commit_queue_take(&store->queue, sleep_limit_ns(store, more))) {
        do
            run_next_batch(&store->writer);
        while (command_waits(&store->writer));
        more = job_scheduler_run(store);
        index_waiters_answer(&store->waiters, !more);
    }
    kx_buffer_free(&store->writer.expiry.kept);
    return NULL;
}

bool writer_start(struct kx_store *store)
{
    return pthread_create(&store->writer.thread, NULL, run, store) == 0;
}

void writer_stop(struct kx_store *store)
{
    commit_queue_stop(&store->queue);
    pthread_join(store->writer.thread, NULL);
}
