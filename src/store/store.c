/* Opening and closing a store.
 *
 * A store has one thread, the writer (writer.c), which alone changes data. In a
 * data directory it also has the checkpointer (checkpointer.c), which maintains
 * log and disk, and with an archive a third thread (archive.c). Everything
 * belongs to one talloc context, except the build scan and the last plan, which
 * the writer creates and frees while other threads run. */
#include <stdlib.h>
#include <talloc.h>

#include "catalog/idempotency_rows.h"
#include <unistd.h>

#include "engine/engine.h"
#include "backup/archive_follow.h"
#include "builds/build_job.h"
#include "postgres/pg_engine.h"
#include "store/checkpointer.h"
#include "store/data_dir.h"
#include "store/tokens.h"
#include "commit/watch.h"
#include "store/writer.h"

enum {
    TAKE_MS = 5000, /* waits for the lease of a process that has just ended */
    LOOK_MS = 50    /* between two attempts to take the lease */
};

void kx_options_default(struct kx_options *options)
{
    *options = (struct kx_options){
        .cache_bytes = 256u << 20,
        .value_max = KX_VALUE_MAX_DEFAULT,
        .outcome_quota = 1u << 30,
        .queue_max = 16384,
        .checkpoint_seconds = 30,
        .checkpoint_bytes = 128u << 20,
        .check_pages = (1u << 30) / 4096,
        .recovery_us = 2000 * 1000,
        .archive_interval_ms = 24 * 3600 * 1000,
        .archive_keep = 7,
        .fence_lease_ms = 10 * 1000,
        .disk_floor = 128u << 20,
        .build_memory = 64u << 20,
    };
}

/* The directory in which builds sort what exceeds their memory. */
static const char *sort_directory(const struct kx_options *options)
{
    const char *directory = getenv("TMPDIR");
    if (options->engine == NULL)
        return options->directory;
    return directory != NULL && directory[0] != '\0' ? directory : "/var/tmp";
}

/* Sets up the writer's context. */
static void init_writer(struct kx_store *store)
{
    struct writer *writer = &store->writer;
    writer->base.engine = store->engine;
    writer->base.cache = store->cache;
    writer->base.catalog = store->catalog;
    writer->base.value_max = store->options.value_max;
    writer->base.outcome_quota = store->options.outcome_quota;
    writer->build.memory = store->options.build_memory;
    writer->build.directory = sort_directory(&store->options);
    if (store->options.engine == NULL)
        writer->build.disk_floor = store->options.disk_floor;
    writer->view = &store->view;
    writer->flush = &store->flush;
    writer->queue = &store->queue;
    writer->watches = store->watches;
    writer->waiters = &store->waiters;
    writer->stats = &store->stats;
    writer->tokens = store->tokens;
    writer->unpaced = store->options.unpaced;
}

/* Sets up everything that an open store has in memory besides the storage.
 * Cannot fail. */
static void init_modules(struct kx_store *store)
{
    kx_answer_fn *answer = store->options.answer;
    void *context = store->options.answer_context;
    store->queue = (struct commit_queue){.engine = store->engine,
                                         .max = store->options.queue_max};
    store->flush = (struct flush){.engine = store->engine,
                                  .view = &store->view,
                                  .watches = store->watches,
                                  .stats = &store->stats,
                                  .answer = answer,
                                  .answer_context = context};
    commit_queue_init(&store->queue);
    flush_init(&store->flush);
    index_waiters_init(&store->waiters, answer, context);
    init_writer(store);
    atomic_store(&store->stats.stamp, store->catalog->stamp);
    atomic_store(&store->stats.stored, store->catalog->stamp);
    atomic_store(&store->stats.entries, store->catalog->entries);
}

static bool is_embedded(const struct kx_store *store)
{
    return store->options.engine == NULL;
}

/* After commits were lost, their versionstamps must not be used again. */
static enum kx_status leap(struct kx_store *store)
{
    if (is_embedded(store) || !pg_engine_leaps(store->engine))
        return KX_OK;
    enum kx_status status = catalog_raise_stamp(store->catalog, 0);
    if (status != KX_OK)
        return status;
    kx_log(KX_LOG_WARNING, "versionstamps-raised", "versionstamp=%016llx0000",
           (unsigned long long)store->catalog->stamp);
    return pg_engine_leapt(store->engine);
}

/* Loads the catalog and tokens, and allocates the rest. Half of the cache holds
 * single records. */
static enum kx_status load(struct kx_store *store, struct kx_fault *fault)
{
    struct plan_base *base = &store->writer.base;
    enum kx_status status =
        engine_view_open(store, store->engine, NULL, &base->view);
    if (status == KX_OK)
        status = catalog_load(store, store->engine, base->view, &store->catalog,
                              fault);
    if (status == KX_OK)
        status = catalog_rebuild(store->catalog);
    if (status == KX_OK)
        status = leap(store);
    if (status == KX_OK)
        status =
            engine_range_create(store, base->view, TABLE_ENTRIES, &base->range);
    if (status == KX_OK)
        status = tokens_load(store, base->view, &store->tokens, fault);
    uint64_t outcome_bytes = 0;
    if (status == KX_OK)
        status = idempotency_usages_total(store, base->view, &outcome_bytes);
    if (status != KX_OK)
        return status;
    atomic_store(&store->stats.outcome_bytes, outcome_bytes);
    store->cache = record_cache_create(store, store->options.cache_bytes / 2);
    store->watches = watch_set_create(store, store->options.answer,
                                      store->options.answer_context);
    if (store->cache == NULL || store->watches == NULL)
        return KX_NO_MEMORY;
    init_modules(store);
    if (is_embedded(store) && !data_dir_prepare(store))
        return KX_NO_MEMORY;
    return view_init(&store->view, store->options.answer,
                     store->options.answer_context);
}

static void close_engine(struct kx_store *store)
{
    archive_follow_stop(store);
    if (store->follow != NULL)
        checkpointer_stop(store->checkpointer);
    if (is_embedded(store))
        data_dir_close(store);
    else
        pg_engine_close(store->engine);
    store->engine = NULL;
}

/* Frees what is not in the store's talloc context. Call after the threads have
 * ended. */
static void finish_modules(struct kx_store *store)
{
    build_job_end(&store->writer);
    talloc_free(store->writer.plan);
    view_finish(&store->view);
    index_waiters_finish(&store->waiters);
    flush_finish(&store->flush);
    commit_queue_finish(&store->queue);
}

/* Starts both the writer and the checkpointer, or neither. */
static bool start_threads(struct kx_store *store)
{
    if (!writer_start(store))
        return false;
    bool started = !is_embedded(store) || data_dir_start(store);
    if (!started)
        writer_stop(store);
    return started;
}

static enum kx_status start(struct kx_store *store, struct kx_fault *fault)
{
    enum kx_status status =
        is_embedded(store) ? data_dir_archive(store, fault) : KX_OK;
    if (status == KX_OK && !start_threads(store)) {
        status = kx_fail(fault, KX_NO_MEMORY, "cannot start a thread");
        data_dir_stop(store);
    }
    if (status != KX_OK)
        finish_modules(store);
    store->started = status == KX_OK;
    return status;
}

static enum kx_status load_and_start(struct kx_store *store,
                                     struct kx_fault *fault)
{
    enum kx_status status = load(store, fault);
    return status == KX_OK ? start(store, fault) : status;
}

static struct kx_store *create(const struct kx_options *options,
                               struct kx_fault *fault)
{
    struct kx_store *store = talloc_zero(NULL, struct kx_store);
    if (store == NULL)
        kx_fail(fault, KX_NO_MEMORY, "no memory");
    else
        store->options = *options;
    return store;
}

/* ---- A store that another process may change ----------------------------- */

static enum kx_status restore_followed(const struct kx_options *options,
                                       struct kx_fault *fault)
{
    struct kx_restore restore = {.source = options->follow,
                                 .objects = options->objects,
                                 .directory = options->directory,
                                 .follows = true};
    kx_log(KX_LOG_INFO, "restoring", "archive=%s", restore.source);
    return kx_restore(&restore, fault);
}

static enum kx_status start_following(struct kx_store *store,
                                      struct kx_fault *fault)
{
    store->checkpointer = checkpointer_start(store, store->env, &store->options,
                                             store->unchecked);
    if (store->checkpointer == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "cannot start a thread");
    enum kx_status status = archive_follow_start(store, fault);
    if (status != KX_OK)
        checkpointer_stop(store->checkpointer);
    return status;
}

/* A directory that is empty or missing is restored from the archive first. */
static enum kx_status join_archive(struct kx_store *store,
                                   struct kx_fault *fault)
{
    enum kx_status status =
        archive_follow_look(store->options.directory, fault);
    if (status == KX_ABSENT)
        status = restore_followed(&store->options, fault);
    if (status == KX_OK)
        status = data_dir_open(store, fault);
    if (status != KX_OK)
        return status;
    status = start_following(store, fault);
    if (status != KX_OK)
        data_dir_close(store);
    return status;
}

enum kx_status kx_join(const struct kx_options *options,
                       struct kx_store **store_out, struct kx_fault *fault)
{
    struct kx_store *store = create(options, fault);
    if (store == NULL)
        return KX_NO_MEMORY;
    store->followed = tokens_create(store);
    enum kx_status status = KX_OK;
    if (store->followed == NULL)
        status = kx_fail(fault, KX_NO_MEMORY, "no memory");
    else if (options->follow != NULL)
        status = join_archive(store, fault);
    else
        status = pg_engine_join(store, &store->options, &store->engine, fault);
    if (status != KX_OK) {
        talloc_free(store);
        return status;
    }
    *store_out = store;
    return KX_OK;
}

/* After a failure another node may have the lease, but the engine stays until
 * kx_close, because followers read through it. */
enum kx_status kx_take(struct kx_store *store, struct kx_holder *holder_out,
                       struct kx_fault *fault)
{
    if (store->follow != NULL)
        return archive_follow_holder(store, holder_out, fault);
    enum kx_status status = pg_engine_take(store->engine, holder_out, fault);
    if (status != KX_OK)
        return status;
    status = load_and_start(store, fault);
    if (status != KX_OK)
        pg_engine_leave(store->engine);
    return status == KX_UNREACHABLE ? KX_FAILED : status;
}

/* Waits for the lease of a process that has just ended. */
static enum kx_status join_and_take(const struct kx_options *options,
                                    struct kx_store **store_out,
                                    struct kx_fault *fault)
{
    uint64_t until_ns = kx_monotonic_ns() + (uint64_t)TAKE_MS * KX_MS_NS;
    struct kx_holder holder;
    enum kx_status status = kx_join(options, store_out, fault);
    if (status != KX_OK)
        return status;
    while ((status = kx_take(*store_out, &holder, fault)) == KX_IN_USE &&
           kx_monotonic_ns() < until_ns)
        usleep(LOOK_MS * 1000);
    if (status != KX_OK)
        kx_close(*store_out);
    return status;
}

/* ---- Opening and closing ------------------------------------------------- */

enum kx_status kx_open(const struct kx_options *options,
                       struct kx_store **store_out, struct kx_fault *fault)
{
    if (options->engine != NULL)
        return join_and_take(options, store_out, fault);
    struct kx_store *store = create(options, fault);
    if (store == NULL)
        return KX_NO_MEMORY;
    enum kx_status status = data_dir_open(store, fault);
    if (status == KX_OK) {
        status = load_and_start(store, fault);
        if (status != KX_OK)
            close_engine(store);
    }
    if (status != KX_OK) {
        talloc_free(store);
        return status;
    }
    *store_out = store;
    return KX_OK;
}

/* The threads end first (the writer after it has answered all waiting commits),
 * then their data are freed. */
void kx_close(struct kx_store *store)
{
    if (store == NULL)
        return;
    kx_close_begin(store);
    if (store->started) {
        writer_stop(store);
        data_dir_stop(store);
        finish_modules(store);
    }
    if (store->engine != NULL)
        close_engine(store);
    talloc_free(store);
}
