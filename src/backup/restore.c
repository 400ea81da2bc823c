/* Turns a backup into a data directory: unpack, check, replay. Until the end
 * the directory has a marker file, with which it cannot be opened. */
#include "backup/restore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <talloc.h>
#include <unistd.h>

#include "backup/archive_follow.h"
#include "backup/archive_restore.h"
#include "backup/archive_timeline.h"
#include "backup/restore_files.h"
#include "catalog/catalog.h"
#include "storage/bdb_engine.h"
#include "storage/directory.h"
#include "storage/log_end.h"
#include "base/file.h"
#include "bdb/page_check.h"

static const char MARKER[] = "restoring";

enum { PATH_SIZE = 4096 };
static const uint64_t CACHE_BYTES = 64 << 20;
static const char *join(char *path, const char *directory, const char *name)
{
    snprintf(path, PATH_SIZE, "%s/%s", directory, name);
    return path;
}

enum kx_status restore_broken_off(const char *directory, struct kx_fault *fault)
{
    char path[PATH_SIZE];
    uint64_t size;
    return file_measure(join(path, directory, MARKER), &size, fault);
}

bool restore_begin(const char *directory)
{
    char path[PATH_SIZE];
    int fd = open(join(path, directory, MARKER), O_WRONLY | O_CREAT | O_CLOEXEC,
                  0600);
    if (fd < 0)
        return false;
    close(fd);
    return file_sync(path);
}

bool restore_end(const char *directory)
{
    char path[PATH_SIZE];
    return unlink(join(path, directory, MARKER)) == 0 && file_sync(path);
}

/* ---- Replaying ---------------------------------------------------------- */

/* Opens the directory and replays the whole log. */
static enum kx_status open_restored(void *mem, const char *directory,
                                    struct dir_lock *lock, struct env **env_out,
                                    struct kx_fault *fault)
{
    struct env_options options = {.directory = directory,
                                  .cache_bytes = CACHE_BYTES,
                                  .fatal = true,
                                  .lock = lock};
    struct log_end log_end = {.directory = directory, .whole = true};
    enum kx_status status = directory_format_look(directory, fault);
    if (status == KX_OK)
        status = page_check_all(directory, fault);
    if (status == KX_OK)
        status = log_end_find(&log_end, fault);
    return status == KX_OK ? env_open(mem, &options, env_out, fault) : status;
}

/* Sets *stamp_out to the last versionstamp of the restored data, and raises the
 * data's versionstamp. */
static enum kx_status raise_restored(struct env *env, const char *directory,
                                     uint64_t known, uint64_t *stamp_out,
                                     struct kx_fault *fault)
{
    struct engine *engine = bdb_engine(env);
    struct engine_view *view;
    struct catalog *catalog;
    enum kx_status status = engine_view_open(env, engine, NULL, &view);
    if (status == KX_OK)
        status = catalog_load(env, engine, view, &catalog, fault);
    if (status == KX_OK)
        status = catalog_rebuild(catalog);
    if (status != KX_OK)
        return status;
    *stamp_out = catalog->stamp;
    status = catalog_raise_stamp(catalog, known);
    if (status != KX_OK)
        kx_fail(fault, status, "%s: its versionstamp cannot be raised",
                directory);
    return status;
}

enum kx_status restore_replay(const char *directory, struct dir_lock *lock,
                              uint64_t known, uint64_t *stamp_out,
                              struct kx_fault *fault)
{
    void *mem = talloc_new(NULL);
    struct env *env = NULL;
    if (mem == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    enum kx_status status = open_restored(mem, directory, lock, &env, fault);
    if (status == KX_OK)
        status = raise_restored(env, directory, known, stamp_out, fault);
    if (env != NULL && env_close(env) != KX_OK && status == KX_OK)
        status = kx_fail(fault, KX_FAILED,
                         "%s: the restored data could not be flushed to disk",
                         directory);
    talloc_free(mem);
    return status;
}

/* ---- The whole restore
 * ---------------------------------------------------------- */

static enum kx_status bad_directory(const char *path, struct kx_fault *fault)
{
    return kx_fail(fault, KX_BAD_DIRECTORY, "%s: %s", path, strerror(errno));
}

/* Ignores the files of an empty file system's top directory. */
static int is_used(const struct dirent *file)
{
    return strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0 &&
           strcmp(file->d_name, "lost+found") != 0;
}

/* The number of files in the directory; -1 if it cannot be read. */
static int count_used(const char *path)
{
    struct dirent **files = NULL;
    int count = scandir(path, &files, is_used, NULL);
    for (int i = 0; i < count; i++)
        free(files[i]);
    free(files);
    return count;
}

/* Creates the directory, or checks that it is empty. */
static enum kx_status make_empty(const char *path, struct kx_fault *fault)
{
    if (!file_make_parents(path) || !file_make_directory(path))
        return bad_directory(path, fault);
    int count = count_used(path);
    if (count < 0)
        return bad_directory(path, fault);
    if (count == 0)
        return KX_OK;
    if (restore_broken_off(path, NULL) == KX_OK)
        return kx_fail(fault, KX_BAD_DIRECTORY,
                       "%s has the files of a restore that failed; remove it, "
                       "then restore again",
                       path);
    return kx_fail(fault, KX_BAD_DIRECTORY,
                   "%s is not empty; restore into a new directory", path);
}

/* Follows no link, because another user owns the directory. */
static bool chown_all(const char *directory, const struct stat *owner)
{
    struct dirent **files = NULL;
    int count = scandir(directory, &files, is_used, NULL);
    bool done = count >= 0;
    char path[PATH_SIZE];
    for (int i = 0; i < count; i++) {
        done = done && lchown(join(path, directory, files[i]->d_name),
                              owner->st_uid, owner->st_gid) == 0;
        free(files[i]);
    }
    free(files);
    return done;
}

bool kx_restore_chown(const char *directory)
{
    struct stat about;
    if (geteuid() != 0)
        return true;
    if (stat(directory, &about) != 0)
        return false;
    return (about.st_uid == 0 && about.st_gid == 0) ||
           chown_all(directory, &about);
}

static bool is_directory(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static enum kx_status restore_archive(struct kx_restore *restore,
                                      uint64_t *known_out,
                                      struct kx_fault *fault)
{
    enum kx_status status = archive_restore(restore, known_out, fault);
    return status == KX_OK && restore->follows
               ? archive_follow_begin(restore->directory, restore->timeline,
                                      fault)
               : status;
}

enum kx_status kx_restore(struct kx_restore *restore, struct kx_fault *fault)
{
    uint64_t known = 0;
    const char *directory = restore->directory;
    enum kx_status status = make_empty(directory, fault);
    if (status != KX_OK)
        return status;
    if (!restore_begin(directory))
        return kx_fail(fault, KX_BAD_DIRECTORY, "%s: %s", directory,
                       strerror(errno));
    if (restore->objects != NULL || is_directory(restore->source))
        status = restore_archive(restore, &known, fault);
    else
        status = restore_files_unpack(restore, restore->source, fault);
    /* Only the marker is there: the restore changed nothing. */
    if (status != KX_OK && count_used(directory) == 1)
        restore_end(directory);
    if (status == KX_OK)
        status = restore_replay(directory, NULL, known, &restore->stamp, fault);
    if (status == KX_OK && !restore_end(directory))
        status =
            kx_fail(fault, KX_FAILED, "%s: %s", directory, strerror(errno));
    return status;
}

/* ---- A standby's directory ---------------------------------------------- */

static enum kx_status open_and_raise(void *mem, const char *directory,
                                     uint64_t *stamp_out,
                                     struct kx_fault *fault)
{
    struct env *env = NULL;
    struct env_options options = {.directory = directory,
                                  .cache_bytes = CACHE_BYTES};
    enum kx_status status = directory_format_look(directory, fault);
    if (status == KX_OK)
        status = env_open(mem, &options, &env, fault);
    if (status == KX_OK)
        status = raise_restored(env, directory, 0, stamp_out, fault);
    if (env != NULL && env_close(env) != KX_OK && status == KX_OK)
        status =
            kx_fail(fault, KX_FAILED,
                    "%s: the data could not be flushed to disk", directory);
    return status;
}

enum kx_status kx_promoted(const char *directory, struct kx_fault *fault)
{
    char timeline[PATH_SIZE];
    uint64_t stamp;
    enum kx_status status = archive_follow_look(directory, fault);
    if (status == KX_OK)
        return KX_ABSENT;
    if (status == KX_END)
        return kx_promote(directory, &stamp, fault);
    return status == KX_ABSENT
               ? archive_timeline("", directory, timeline, fault)
               : status;
}

enum kx_status kx_promote(const char *directory, uint64_t *stamp_out,
                          struct kx_fault *fault)
{
    enum kx_status status = archive_follow_look(directory, fault);
    if (status == KX_END)
        status = KX_OK;
    if (status == KX_ABSENT)
        return kx_fail(fault, status, "%s does not follow an archive",
                       directory);
    void *mem = talloc_new(NULL);
    if (mem == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    if (status == KX_OK)
        status = open_and_raise(mem, directory, stamp_out, fault);
    talloc_free(mem);
    if (status == KX_OK && !archive_follow_end(directory))
        status = file_failed(directory, fault);
    return status;
}
