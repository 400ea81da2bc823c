/* The order matters: the archive must protect log files before the checkpointer
 * removes any. */
#include "store/data_dir.h"

#include <sys/stat.h>

#include "backup/archive.h"
#include "backup/archive_follow.h"
#include "backup/backup_time.h"
#include "base/file.h"
#include "bdb/compact.h"
#include "storage/bdb_engine.h"
#include "storage/disk_guard.h"
#include "storage/log_files.h"
#include "store/checkpointer.h"
#include "store/compact_job.h"
#include "store/recover.h"

/* Warns if other users may write to the directory: they could replace the files
 * that the server creates there. */
static void check_mode(const char *directory)
{
    struct stat about;
    if (stat(directory, &about) == 0 &&
        (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        kx_log(KX_LOG_WARNING, "data-directory",
               "mode=%o detail=\"other users may write in the data directory: "
               "chmod 700\"",
               (unsigned)about.st_mode & 07777);
}

/* The data of a standby belong to another server until kx_promote. */
static enum kx_status check_followed(const struct kx_store *store,
                                     struct kx_fault *fault)
{
    const char *directory = store->options.directory;
    if (store->options.follow != NULL ||
        archive_follow_look(directory, NULL) == KX_ABSENT)
        return KX_OK;
    return kx_fail(fault, KX_BAD_DIRECTORY,
                   "%s is the data directory of a standby: start it with "
                   "--follow, or make it a server's own with kindex promote",
                   directory);
}

enum kx_status data_dir_open(struct kx_store *store, struct kx_fault *fault)
{
    struct env_options options = {.directory = store->options.directory,
                                  .cache_bytes = store->options.cache_bytes / 2,
                                  .disk_floor = store->options.disk_floor};
    enum kx_status status = check_followed(store, fault);
    if (status == KX_OK)
        status = recover_open(store, &options, fault);
    if (status != KX_OK)
        return status;
    check_mode(store->options.directory);
    if (store->options.archive != NULL) /* keep all until the archive says */
        log_files_keep_from(store->env, 0);
    store->engine = bdb_engine(store->env);
    /* If the log has no space for the record that says so, a standby finds out
     * with the next batch. */
    if (store->options.follow != NULL ||
        bdb_engine_log_rows(store->env, store->options.followed) !=
            KX_NO_MEMORY)
        return KX_OK;
    env_close(store->env);
    return kx_fail(fault, KX_NO_MEMORY, "no memory");
}

bool data_dir_prepare(struct kx_store *store)
{
    store->compaction =
        compact_job_create(store, store->env, &store->writer, &store->backups);
    return store->compaction != NULL;
}

enum kx_status data_dir_archive(struct kx_store *store, struct kx_fault *fault)
{
    disk_guard_keep(env_disk(store->env));
    backup_time_load(store->options.directory, &store->stats.backup_s);
    return archive_start(store, fault);
}

bool data_dir_start(struct kx_store *store)
{
    store->checkpointer = checkpointer_start(store, store->env, &store->options,
                                             store->unchecked);
    return store->checkpointer != NULL;
}

/* Returns free pages to the file system, if there is space for the log of that
 * change. */
static void shorten(struct kx_store *store)
{
    uint64_t reserve =
        atomic_load(&env_disk(store->env)->reserve) + COMPACT_FILE_LOG_MAX;
    if (!env_failed(store->env) &&
        file_free_bytes(store->options.directory) > reserve)
        compact_file(store->env, TABLE_ENTRIES);
}

void data_dir_stop(struct kx_store *store)
{
    if (store->checkpointer != NULL) {
        checkpointer_stop(store->checkpointer);
        shorten(store);
    }
    archive_stop(store);
}

void data_dir_close(struct kx_store *store)
{
    env_close(store->env);
}
