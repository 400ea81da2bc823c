/* Opening, flushing, checkpointing and closing the environment.
 *
 * Durability takes two steps: transactions commit without a sync
 * (DB_TXN_NOSYNC), and env_flush syncs the log once for all of them. Pages are
 * written later, by checkpoints or when the cache is full, but never before
 * their log. When the environment is opened, the library replays the log from
 * the last checkpoint. */
#include "storage/env.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <talloc.h>
#include <time.h>

#include "base/file.h"
#include "bdb/ballast.h"
#include "bdb/checkpoint_throttle.h"
#include "bdb/log_prealloc.h"
#include "bdb/os_hooks.h"
#include "bdb/page_alloc.h"
#include "bdb/page_check.h"
#include "bdb/page_prefetch.h"
#include "storage/env_state.h"
#include "storage/directory.h"
#include "storage/log_files.h"
#include "storage/recovery.h"

/* The log buffer holds a large batch, so that it is not written in pieces
 * before the flush. New log files are full of zeros (log_prealloc.h): a PUT
 * takes a third less latency and a fifth less CPU. */
enum { LOG_BUFFER_BYTES = 4 << 20, LOG_FILE_BYTES = 16 << 20 };

enum { CACHE_ENLARGED_BELOW = 500 << 20 };

enum { ROOM_MIN = 1 << 20 /* bytes; with less, a disk counts as full */ };

/* Called by the library on the thread that notices the event. */
static void on_event(DB_ENV *db, u_int32_t event, void *info)
{
    struct env *env = db->app_private;
    int none = 0;
    if (event == DB_EVENT_PANIC)
        directory_suspect_mark(env_state(env)->disk.directory);
    if (event == DB_EVENT_PANIC && info != NULL)
        atomic_compare_exchange_strong(&env->error, &none, *(const int *)info);
    if (event == DB_EVENT_PANIC || event == DB_EVENT_WRITE_FAILED)
        atomic_store(&env->failed, true);
}

static void on_message(const DB_ENV *db, const char *prefix, const char *text)
{
    (void)db;
    (void)prefix;
    kx_log(KX_LOG_WARNING, "storage", "message=\"%s\"", text);
}

/* The library adds a quarter for its overhead to a cache of less than 500 MB
 * (see DB_ENV->set_cachesize). Here the overhead is part of the cache. */
static int set_cache(DB_ENV *db, uint64_t bytes)
{
    uint64_t asked = bytes < CACHE_ENLARGED_BELOW ? bytes / 5 * 4 : bytes;
    return db->set_cachesize(db, (u_int32_t)(asked >> 30),
                             (u_int32_t)(asked & ((1u << 30) - 1)), 1);
}

static int configure(DB_ENV *db, const struct env_options *options)
{
    int error = page_alloc_except_results(db);
    if (error == 0)
        error = set_cache(db, options->cache_bytes);
    if (error == 0)
        error = db->set_lg_bsize(db, LOG_BUFFER_BYTES);
    if (error == 0)
        error = db->set_lg_max(db, LOG_FILE_BYTES);
    if (error == 0)
        error = db->log_set_config(db, DB_LOG_ZERO, 1);
    if (error == 0)
        error = checkpoint_throttle_configure(db);
    if (error == 0)
        error = db->set_flags(db, DB_TXN_NOSYNC, 1);
    if (error == 0)
        error = db->set_event_notify(db, on_event);
    db->set_errcall(db, on_message);
    return error;
}

/* DB_PRIVATE: memory of this process instead of files that others could map.
 * DB_THREAD: readers and writer share the handles. */
static enum kx_status open_environment(struct env *env,
                                       const struct env_options *options)
{
    u_int32_t recover = options->fatal ? DB_RECOVER_FATAL : DB_RECOVER;
    os_hooks_install();
    page_alloc_install(options->cache_bytes);
    checkpoint_throttle_install();
    int error = db_env_create(&env->db, 0);
    if (error != 0)
        return bdb_status(env, error, "db_env_create");
    env->db->app_private = env;
    error = configure(env->db, options);
    if (error != 0)
        return bdb_status(env, error, "configure");
    struct recovery_prefetch *prefetch =
        recovery_prefetch_start(NULL, options->directory);
    error = env->db->open(env->db, options->directory,
                          DB_CREATE | DB_PRIVATE | DB_THREAD | recover |
                              DB_INIT_MPOOL | DB_INIT_LOG | DB_INIT_TXN,
                          0600);
    talloc_free(prefetch);
    return bdb_status(env, error, "open environment");
}

/* Starts after the library has created and filled the very first log file. The
 * reserve is twice the floor: commits leave the floor free, and the ballast may
 * have to be recreated. */
static enum kx_status start_prealloc(struct env *env,
                                     const struct env_options *options)
{
    env_state(env)->prealloc = log_prealloc_start(
        env, options->directory, LOG_FILE_BYTES, 2 * options->disk_floor);
    if (env_state(env)->prealloc == NULL)
        return KX_NO_MEMORY;
    int error = env->db->log_set_config(env->db, DB_LOG_ZERO, 0);
    return bdb_status(env, error, "configure");
}

/* The library's own order, compared word by word instead of byte by byte (saves
 * a tenth of a write with two indexes). The order must not differ: recovery
 * opens the tables with the library's function. */
static int compare_keys(DB *db, const DBT *a, const DBT *b)
{
    (void)db;
    int order = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);
    if (order != 0)
        return order;
    return (a->size > b->size) - (a->size < b->size);
}

/* Returns how many bytes of b distinguish it from a, which is lower. An inner
 * page stores only these. */
static size_t distinguishing_bytes(DB *db, const DBT *a, const DBT *b)
{
    (void)db;
    const uint8_t *low = a->data;
    const uint8_t *high = b->data;
    size_t shared = 0;
    while (shared < a->size && shared < b->size && low[shared] == high[shared])
        shared++;
    return shared < b->size ? shared + 1 : shared;
}

static int open_table(struct env *env, enum table table)
{
    int error = db_create(&env->tables[table], env->db, 0);
    if (error != 0)
        return error;
    DB *db = env->tables[table];
    error = db->set_pagesize(db, PAGE_BYTES);
    if (error == 0)
        error = db->set_bt_compare(db, compare_keys);
    if (error == 0)
        error = db->set_bt_prefix(db, distinguishing_bytes);
    if (error == 0)
        error = db->set_flags(db, DB_CHKSUM);
    if (error == 0)
        error = db->open(db, NULL, table_file(table), NULL, DB_BTREE,
                         DB_CREATE | DB_THREAD | DB_AUTO_COMMIT, 0600);
    return error;
}

static bool has_lost_a_sync(const struct env *env)
{
    return os_hooks_syncs_failed() != env_state(env)->syncs_failed;
}

static void ignore_message(const DB_ENV *db, const char *prefix,
                           const char *text)
{
    (void)db;
    (void)prefix;
    (void)text;
}

/* Makes the library write nothing from now on: the log may lack changes that
 * are in its pages. */
static void give_up(DB_ENV *db)
{
    db->set_errcall(db, ignore_message);
    db->set_flags(db, DB_PANIC_ENVIRONMENT, 1);
}

/* Closes the tables before their environment; the lock, a child, comes last. */
static int finish(struct env_state *state)
{
    struct env *env = &state->env;
    if (env->db != NULL && env_failed(env))
        give_up(env->db);
    talloc_free(state->prealloc);
    talloc_free(state->prefetch);
    for (int i = 0; i < TABLE_COUNT; i++)
        if (env->tables[i] != NULL)
            env->tables[i]->close(env->tables[i], 0);
    if (env->db != NULL)
        env->db->close(env->db, 0);
    pthread_mutex_destroy(&state->logs_lock);
    return 0;
}

/* If the marker does not fit on the disk, the next open writes it; until then a
 * lost table is not always noticed. */
static enum kx_status ensure_init_marker(struct env *env, const char *directory)
{
    if (directory_complete_exists(directory, NULL) == KX_OK)
        return KX_OK;
    int error = env->db->txn_checkpoint(env->db, 0, 0, DB_FORCE);
    if (error == 0 && !directory_complete_write(directory) &&
        !file_no_room(errno))
        error = errno;
    return bdb_status(env, error, "checkpoint");
}

/* Returns whether an error comes from the system and says nothing about file
 * contents. The library reports wrong contents by its own errors, EINVAL or
 * ENOENT. (Files that the disk cannot read are found earlier.) */
static bool is_of_system(int error)
{
    return error > 0 && error != EINVAL && error != ENOENT;
}

/* Returns the status of a failed open. Files are not damaged if they cannot be
 * written because the disk is full, or cannot be listed, opened or synced.
 * error: the first one that led to KX_FAILED. */
static enum kx_status fail_to_open(const struct env_options *options,
                                   enum kx_status status, int error,
                                   struct kx_fault *fault)
{
    const char *directory = options->directory;
    if (file_free_bytes(directory) < options->disk_floor / 2 + ROOM_MIN)
        return kx_fail(fault, KX_DISK_FULL,
                       "cannot open the store in %s: its disk is full",
                       directory);
    if (os_hooks_list_error() != 0)
        return kx_fail(fault, KX_BAD_DIRECTORY, "data directory %s: %s",
                       directory, strerror(os_hooks_list_error()));
    if (os_hooks_failed(fault))
        return KX_BAD_DIRECTORY;
    if (status != KX_FAILED || !is_of_system(error))
        return kx_fail(fault, status, "cannot open the store in %s", directory);
    errno = error;
    status = file_failed(directory, fault);
    return status == KX_FAILED ? KX_BAD_DIRECTORY : status;
}

static enum kx_status open_all(struct env *env,
                               const struct env_options *options)
{
    enum kx_status status = open_environment(env, options);
    for (int i = 0; status == KX_OK && i < TABLE_COUNT; i++)
        status = bdb_status(env, open_table(env, i), "open table");
    if (status == KX_OK)
        status = start_prealloc(env, options);
    if (status == KX_OK) {
        struct env_state *state = env_state(env);
        state->throttle = checkpoint_throttle_create(env, options->directory);
        state->prefetch = page_prefetch_create(env);
        status = state->throttle == NULL || state->prefetch == NULL
                     ? KX_NO_MEMORY
                     : env_flush(env);
    }
    if (status == KX_OK)
        status = log_witness_start(env);
    if (status == KX_OK)
        status = ensure_init_marker(env, options->directory);
    if (status == KX_OK && has_lost_a_sync(env))
        status = KX_BAD_DIRECTORY;
    if (status == KX_OK)
        env_state(env)->recovery = recovery_start_here(env);
    return status;
}

enum kx_status env_open(void *mem, const struct env_options *options,
                        struct env **env_out, struct kx_fault *fault)
{
    struct dir_lock *lock = options->lock;
    struct env_state *state = talloc_zero(mem, struct env_state);
    if (state == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    struct env *env = &state->env;
    state->disk = (struct disk_guard){.env = env,
                                      .directory = options->directory,
                                      .floor = options->disk_floor};
    state->logs_kept_from = UINT32_MAX;
    state->syncs_failed = os_hooks_syncs_failed();
    pthread_mutex_init(&state->logs_lock, NULL);
    talloc_set_destructor(state, finish);
    enum kx_status status = KX_OK;
    if (options->lock == NULL)
        status = dir_lock_take(env, options->directory, &lock, fault);
    if (status == KX_OK) {
        ballast_give_if_full(options->directory, options->disk_floor);
        status = directory_format_guard(options->directory, fault);
    }
    if (status != KX_OK) {
        talloc_free(env);
        return status;
    }
    status = open_all(env, options);
    if (status != KX_OK) {
        int error = atomic_load(&env->error);
        talloc_free(env);
        return fail_to_open(options, status, error, fault);
    }
    *env_out = env;
    return KX_OK;
}

/* The checkpoint saves the next open the replay of the log. After a failure the
 * files are left as they are, for recovery. */
enum kx_status env_close(struct env *env)
{
    unsigned failed = env_state(env)->syncs_failed;
    if (!env_failed(env))
        log_witness_last(env);
    bool whole = !env_failed(env) &&
                 env->db->txn_checkpoint(env->db, 0, 0, DB_FORCE) == 0;
    if (whole)
        log_files_trim(env);
    talloc_free(env);
    return whole && os_hooks_syncs_failed() == failed ? KX_OK : KX_FAILED;
}

enum kx_status env_apply(struct env *env, const struct row_write *writes,
                         size_t count, enum row_order order)
{
    enum kx_status status = txn_apply(env, writes, count, order);
    if (status == KX_OK)
        log_witness_batch(env);
    return status;
}

/* A flush is never repeated. It fails if a sync on another thread has failed
 * (os_hooks.h). */
enum kx_status env_flush(struct env *env)
{
    uint64_t put = log_witness_put(env);
    int error = env->db->log_flush(env->db, NULL);
    if (error == 0 && !has_lost_a_sync(env)) {
        log_witness_flushed(env, put);
        return KX_OK;
    }
    atomic_store(&env->failed, true);
    return error == 0 ? KX_FAILED : bdb_status(env, error, "flush");
}

struct disk_guard *env_disk(struct env *env)
{
    return &env_state(env)->disk;
}

/* The place of the last checkpoint in the log; 0 if unknown. */
static uint64_t last_checkpoint(DB_ENV *db)
{
    DB_TXN_STAT *stat = NULL;
    if (db->txn_stat(db, &stat, 0) != 0)
        return 0;
    DB_LSN place = stat->st_last_ckp;
    free(stat);
    return (uint64_t)place.file << 32 | place.offset;
}

/* Returns whether the library will write a checkpoint, by its own rule. */
static bool is_enough(const struct env *env, uint32_t kilobytes)
{
    return kilobytes == 0 || env_log_since_checkpoint(env) >> 10 >= kilobytes;
}

/* The library does not report whether it wrote a checkpoint. If enough log
 * appears only after is_enough, the cost of recovery is counted from an earlier
 * place than recovery would begin at. */
enum kx_status env_checkpoint(struct env *env, uint32_t kilobytes,
                              enum checkpoint_pace pace)
{
    struct env_state *state = env_state(env);
    log_witness_last(env);
    uint64_t before = last_checkpoint(env->db);
    struct recovery_start start =
        is_enough(env, kilobytes) ? recovery_start_here(env) : state->recovery;
    checkpoint_throttle_begin(state->throttle, pace == CHECKPOINT_PAUSES);
    int error = env->db->txn_checkpoint(env->db, kilobytes, 0, 0);
    checkpoint_throttle_end();
    if (error == 0)
        log_files_trim(env);
    if (error == 0 && last_checkpoint(env->db) != before) {
        state->recovery = start;
        atomic_fetch_add(&state->checkpoints, 1);
    }
    return bdb_status(env, error, "checkpoint");
}

uint64_t env_checkpoints(const struct env *env)
{
    return atomic_load(&env_state(env)->checkpoints);
}

uint64_t env_log_since_checkpoint(const struct env *env)
{
    DB_LOG_STAT *stat = NULL;
    if (env->db->log_stat(env->db, &stat, 0) != 0)
        return 0;
    uint64_t bytes = ((uint64_t)stat->st_wc_mbytes << 20) + stat->st_wc_bytes;
    free(stat);
    return bytes;
}

void env_fail(struct env *env)
{
    atomic_store(&env->failed, true);
}

bool env_failed(const struct env *env)
{
    return atomic_load(&env->failed) || has_lost_a_sync(env);
}

/* Statistics of the library's cache, and the sizes of its files. */

static void read_cache(DB_ENV *db, struct env_stats *stats)
{
    DB_MPOOL_STAT *stat = NULL;
    if (db->memp_stat(db, &stat, NULL, 0) != 0)
        return;
    stats->cache_hits = stat->st_cache_hit;
    stats->cache_misses = stat->st_cache_miss;
    stats->cache_bytes =
        ((uint64_t)stat->st_gbytes << 30) + (uint64_t)stat->st_bytes;
    stats->cache_dirty = stat->st_page_dirty;
    stats->pages_written = stat->st_page_out;
    stats->pages_evicted = stat->st_ro_evict + stat->st_rw_evict;
    free(stat);
}

/* The library does not know checkpoints from before it was opened. */
static void read_checkpoint(DB_ENV *db, struct env_stats *stats)
{
    DB_TXN_STAT *stat = NULL;
    if (db->txn_stat(db, &stat, 0) != 0)
        return;
    time_t now = time(NULL);
    if (stat->st_time_ckp != 0 && now > stat->st_time_ckp)
        stats->checkpoint_age_s = (uint64_t)(now - stat->st_time_ckp);
    free(stat);
}

static void add_file(struct env_stats *stats, const char *name, uint64_t bytes)
{
    for (int i = 0; i < TABLE_COUNT; i++)
        if (strcmp(name, table_file((enum table)i)) == 0)
            stats->table_bytes[i] = bytes;
    if (strncmp(name, "log.", 4) == 0) {
        stats->log_files++;
        stats->log_bytes += bytes;
    }
}

/* Skips a file that is removed meanwhile. */
static void read_files(DB_ENV *db, struct env_stats *stats)
{
    const char *home = NULL;
    if (db->get_home(db, &home) != 0 || home == NULL)
        return;
    DIR *directory = opendir(home);
    const struct dirent *entry;
    struct stat stat;
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (fstatat(dirfd(directory), entry->d_name, &stat, 0) == 0)
            add_file(stats, entry->d_name, (uint64_t)stat.st_size);
    if (directory != NULL)
        closedir(directory);
}

void env_stats_read(struct env *env, struct env_stats *stats_out)
{
    *stats_out = (struct env_stats){
        .checkpoints = atomic_load(&env_state(env)->checkpoints)};
    read_cache(env->db, stats_out);
    read_checkpoint(env->db, stats_out);
    read_files(env->db, stats_out);
}
