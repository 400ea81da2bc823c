/* Opening and closing a store, and kx_wait, by which a reply waits for a flush.
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
#include "bdb/range.h"
#include "commit/disk_guard.h"
#include "store/tokens.h"
#include "commit/watch.h"
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

static void init_conditions(struct kx_store *store)
{
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->work, NULL);
    pthread_cond_init(&store->returned, NULL);
    pthread_cond_init(&store->stop, NULL);
    pthread_cond_init(&store->archived, NULL);
    commit_delay_init(&store->linger);
}

static enum kx_status make_cache(struct kx_store *store)
{
    store->cache = record_cache_create(store, store->options.cache_bytes / 2);
    store->base = (struct plan_base){.env = store->env,
                                     .cache = store->cache,
                                     .catalog = store->catalog,
                                     .range = store->range,
                                     .value_max = store->options.value_max};
    return store->cache == NULL ? KX_NO_MEMORY : KX_OK;
}

static enum kx_status make_watches(struct kx_store *store)
{
    store->watches = watch_set_create(store);
    return store->watches == NULL ? KX_NO_MEMORY : KX_OK;
}

static void note_figures(struct kx_store *store)
{
    atomic_store(&store->stamp, store->catalog->stamp);
    atomic_store(&store->entries, store->catalog->entries);
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
        status = catalog_load(store, store->env, &store->catalog, fault);
        if (status == KX_OK)
            status = catalog_rebuild(store->catalog);
        if (status == KX_OK)
            status =
                range_create(store, store->env, TABLE_ENTRIES, &store->range);
        if (status == KX_OK)
            note_figures(store);
        if (status == KX_OK)
            status = make_cache(store);
        if (status == KX_OK)
            status = make_watches(store);
        if (status == KX_OK)
            status = tokens_load(store, fault);
        if (status == KX_OK)
            status = view_init(&store->gate, store->options.answer,
                               store->options.answer_context);
        if (status != KX_OK)
            env_close(store->env);
    }
    return status;
}

/* Frees the writer's data after its thread has ended. */
static void free_writers(struct kx_store *store)
{
    build_job_end(store);
    talloc_free(store->plan);
    view_finish(&store->gate);
}

/* On failure neither thread runs. */
static enum kx_status start_threads(struct kx_store *store)
{
    if (pthread_create(&store->writer, NULL, writer_run, store) != 0) {
        free_writers(store);
        return KX_NO_MEMORY;
    }
    if (pthread_create(&store->keeper, NULL, checkpointer_run, store) == 0)
        return KX_OK;
    pthread_mutex_lock(&store->lock);
    store->stopping = true;
    pthread_cond_signal(&store->work);
    pthread_mutex_unlock(&store->lock);
    pthread_join(store->writer, NULL);
    free_writers(store);
    return KX_NO_MEMORY;
}

enum kx_status kx_open(const struct kx_options *options,
                       struct kx_store **store_out, struct kx_fault *fault)
{
    struct kx_store *store = talloc_zero(NULL, struct kx_store);
    if (store == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    store->options = *options;
    init_conditions(store);
    store->working = true; /* until the writer first waits */
    enum kx_status status = open_storage(store, fault);
    if (status == KX_OK) {
        disk_guard_keep(store);
        backup_time_load(store);
        status = archive_start(store, fault);
        if (status == KX_OK && start_threads(store) != KX_OK) {
            status = kx_fail(fault, KX_NO_MEMORY, "cannot start a thread");
            archive_stop(store);
        }
        if (status != KX_OK)
            env_close(store->env);
    }
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
    uint64_t reserve = atomic_load(&store->disk_reserve) + COMPACT_FILE_LOG_MAX;
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
    pthread_mutex_lock(&store->lock);
    store->stopping = true;
    pthread_cond_signal(&store->work);
    pthread_cond_signal(&store->stop);
    pthread_mutex_unlock(&store->lock);
    pthread_join(store->writer, NULL);
    pthread_join(store->keeper, NULL);
    shorten(store);
    archive_stop(store);
    free_writers(store);
    env_close(store->env);
    talloc_free(store);
}

const char *kx_store_id(const struct kx_store *store)
{
    return store->catalog->id;
}

bool kx_store_failed(const struct kx_store *store)
{
    return env_failed(store->env);
}

void kx_feed(struct kx_store *store)
{
    commit_delay_expect(&store->linger);
}

void kx_rest(struct kx_store *store)
{
    commit_delay_done(&store->linger, &store->lock);
}
