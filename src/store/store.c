/* Opening and closing a store.
 *
 * A store has two threads: the writer (writer.c), which alone changes data, and
 * the checkpointer (checkpointer.c), which looks after log and disk. With an
 * archive it has a third one (archive.c). Everything belongs to one talloc
 * context, except the build scan and the last plan, which the writer makes and
 * frees while other threads run. */
#include <talloc.h>

#include "base/file.h"
#include "backup/archive.h"
#include "indexes/build_job.h"
#include "backup/backup_time.h"
#include "bdb/compact.h"
#include "store/checkpointer.h"
#include "storage/log_files.h"
#include "store/recover.h"
#include "engine/engine.h"
#include "storage/bdb_engine.h"
#include "storage/disk_guard.h"
#include "store/tokens.h"
#include "commit/watch.h"
#include "store/compact_job.h"
#include "store/writer.h"

void kx_options_default(struct kx_options *options)
{
    *options = (struct kx_options){
        .cache_bytes = 256u << 20,
        .value_max = KX_VALUE_MAX_DEFAULT,
        .queue_max = 16384,
        .checkpoint_seconds = 30,
        .checkpoint_bytes = 128u << 20,
        .archive_interval_ms = 24 * 3600 * 1000,
        .archive_keep = 7,
        .disk_floor = 128u << 20,
    };
}

/* What the writer works with. */
static void init_writer(struct kx_store *store)
{
    struct writer *writer = &store->writer;
    writer->base.engine = store->engine;
    writer->base.cache = store->cache;
    writer->base.catalog = store->catalog;
    writer->base.value_max = store->options.value_max;
    writer->view = &store->view;
    writer->settle = &store->settle;
    writer->watches = store->watches;
    writer->news = &store->news;
    writer->counters = &store->counters;
    writer->tokens = store->tokens;
    writer->unpaced = store->options.unpaced;
}

/* Everything that an open store has in memory beside the storage; nothing of it
 * can fail. */
static void init_modules(struct kx_store *store)
{
    kx_answer_fn *answer = store->options.answer;
    void *context = store->options.answer_context;
    store->queue = (struct commit_queue){.engine = store->engine,
                                         .max = store->options.queue_max};
    store->settle = (struct settle){.engine = store->engine,
                                    .view = &store->view,
                                    .watches = store->watches,
                                    .counters = &store->counters,
                                    .answer = answer,
                                    .answer_context = context};
    commit_queue_init(&store->queue);
    settle_init(&store->settle);
    index_news_init(&store->news, answer, context);
    init_writer(store);
    atomic_store(&store->counters.stamp, store->catalog->stamp);
    atomic_store(&store->counters.entries, store->catalog->entries);
}

/* What the storage gives, and memory for the rest. */
static enum kx_status load(struct kx_store *store, struct kx_fault *fault)
{
    struct plan_base *base = &store->writer.base;
    store->engine = bdb_engine(store->env);
    enum kx_status status =
        engine_view_open(store, store->engine, NULL, &base->view);
    if (status == KX_OK)
        status = catalog_load(store, store->engine, base->view, &store->catalog,
                              fault);
    if (status == KX_OK)
        status = catalog_rebuild(store->catalog);
    if (status == KX_OK)
        status =
            engine_range_create(store, base->view, TABLE_ENTRIES, &base->range);
    if (status == KX_OK)
        status = tokens_load(store, base->view, &store->tokens, fault);
    if (status != KX_OK)
        return status;
    store->cache = record_cache_create(store, store->options.cache_bytes / 2);
    store->watches = watch_set_create(store);
    if (store->cache == NULL || store->watches == NULL)
        return KX_NO_MEMORY;
    init_modules(store);
    store->compaction =
        compact_job_create(store, store->env, &store->writer, &store->backups);
    return store->compaction == NULL
               ? KX_NO_MEMORY
               : view_init(&store->view, store->options.answer,
                           store->options.answer_context);
}

/* Half of the cache holds pages, half single records. On failure nothing stays
 * open. */
static enum kx_status open_storage(struct kx_store *store,
                                   struct kx_fault *fault)
{
    struct env_options options = {.directory = store->options.directory,
                                  .cache_bytes = store->options.cache_bytes / 2,
                                  .disk_floor = store->options.disk_floor};
    enum kx_status status = recover_open(store, &options, fault);
    if (status == KX_OK) {
        if (store->options.archive != NULL) /* keep all until it sets this */
            log_files_keep_from(store->env, 0);
        status = load(store, fault);
        if (status != KX_OK)
            env_close(store->env);
    }
    return status;
}

/* Frees what is not in the store's talloc context, after the threads have
 * ended. */
static void finish_modules(struct kx_store *store)
{
    build_job_end(&store->writer);
    talloc_free(store->writer.plan);
    view_finish(&store->view);
    index_news_finish(&store->news);
    settle_finish(&store->settle);
    commit_queue_finish(&store->queue);
}

/* Starts the writer and the checkpointer, or neither of them. */
static bool start_threads(struct kx_store *store)
{
    if (!writer_start(store))
        return false;
    store->checkpointer =
        checkpointer_start(store, store->env, &store->options);
    if (store->checkpointer == NULL)
        writer_stop(store);
    return store->checkpointer != NULL;
}

/* With the storage open, which is closed on failure. */
static enum kx_status start(struct kx_store *store, struct kx_fault *fault)
{
    disk_guard_keep(env_disk(store->env));
    backup_time_load(store->options.directory, &store->counters.backup_s);
    enum kx_status status = archive_start(store, fault);
    if (status == KX_OK && !start_threads(store)) {
        status = kx_fail(fault, KX_NO_MEMORY, "cannot start a thread");
        archive_stop(store);
    }
    if (status != KX_OK) {
        finish_modules(store);
        env_close(store->env);
    }
    return status;
}

enum kx_status kx_open(const struct kx_options *options,
                       struct kx_store **store_out, struct kx_fault *fault)
{
    struct kx_store *store = talloc_zero(NULL, struct kx_store);
    if (store == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    store->options = *options;
    enum kx_status status = open_storage(store, fault);
    if (status == KX_OK)
        status = start(store, fault);
    if (status != KX_OK) {
        talloc_free(store);
        return status;
    }
    *store_out = store;
    return KX_OK;
}

/* The last work on the storage, after the last commit: returns free pages to
 * the file system, if there is space for the log of that. */
static void shorten(struct kx_store *store)
{
    uint64_t reserve =
        atomic_load(&env_disk(store->env)->reserve) + COMPACT_FILE_LOG_MAX;
    if (!env_failed(store->env) &&
        file_free_bytes(store->options.directory) > reserve)
        compact_file(store->env, TABLE_ENTRIES);
}

/* First the threads end (the writer after all waiting commits are answered),
 * then their data is freed. */
void kx_close(struct kx_store *store)
{
    if (store == NULL)
        return;
    writer_stop(store);
    checkpointer_stop(store->checkpointer);
    shorten(store);
    archive_stop(store);
    finish_modules(store);
    env_close(store->env);
    talloc_free(store);
}
