/* A data directory has the name of its timeline in the file "timeline". The
 * process that archives there locks the timeline's directory. */
#include "backup/archive_timeline.h"

#include <errno.h>
#include <stdio.h>
#include <talloc.h>
#include <unistd.h>

#include "backup/archive_names.h"
#include "backup/object_dir.h"
#include "base/dir_lock.h"
#include "base/file.h"
#include "base/uuid.h"

/* KX_ABSENT: the file is missing or contains no timeline's name. */
static enum kx_status read_timeline(const char *directory, char *name,
                                    struct kx_fault *fault)
{
    char path[ARCHIVE_PATH];
    snprintf(path, sizeof path, "%s/timeline", directory);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return errno == ENOENT ? KX_ABSENT : file_failed(path, fault);
    bool read =
        fgets(name, UUID_SIZE, file) != NULL && strlen(name) == UUID_SIZE - 1;
    enum kx_status status = read           ? KX_OK
                            : ferror(file) ? file_failed(path, fault)
                                           : KX_ABSENT;
    fclose(file);
    return status;
}

enum kx_status archive_timeline(const char *archive, const char *directory,
                                char *out, struct kx_fault *fault)
{
    char name[UUID_SIZE];
    enum kx_status status = read_timeline(directory, name, fault);
    if (status == KX_OK)
        snprintf(out, ARCHIVE_PATH, "%s/%s", archive, name);
    return status;
}

static bool write_timeline(const char *directory, const char *name)
{
    char path[ARCHIVE_PATH];
    snprintf(path, sizeof path, "%s/timeline", directory);
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return false;
    bool done =
        fputs(name, file) >= 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    return fclose(file) == 0 && done && file_sync(path);
}

/* Locks the directory of the timeline for this process; the lock is allocated
 * in mem. If locking is impossible, as on a full or read-only disk, a second
 * process goes unnoticed. */
static enum kx_status claim(void *mem, const char *timeline,
                            const char *directory, struct kx_fault *fault)
{
    struct dir_lock *lock;
    enum kx_status status = dir_lock_take(mem, timeline, &lock, fault);
    if (status == KX_IN_USE)
        return kx_fail(fault, KX_IN_USE,
                       "another server archives in %s, so one of the two data "
                       "directories is a copy; if this one is the copy, remove "
                       "%s/timeline: it then archives under a new name",
                       timeline, directory);
    return status == KX_NO_MEMORY ? status : KX_OK;
}

/* Returns whether the archive is a directory: only a directory can be locked.
 */
static bool has_directory(const struct kx_options *options)
{
    return options->archive != NULL && options->objects == NULL;
}

enum kx_status archive_look_for_other(const struct kx_options *options,
                                      struct kx_fault *fault)
{
    char timeline[ARCHIVE_PATH];
    if (!has_directory(options))
        return KX_OK;
    enum kx_status status =
        archive_timeline(options->archive, options->directory, timeline, fault);
    if (status == KX_ABSENT)
        return KX_OK;
    if (status != KX_OK || access(timeline, F_OK) != 0)
        return status;
    void *mem = talloc_new(NULL);
    status = mem == NULL ? kx_fail(fault, KX_NO_MEMORY, "no memory")
                         : claim(mem, timeline, options->directory, fault);
    talloc_free(mem);
    return status;
}

enum kx_status archive_timeline_name(const char *directory, char *name,
                                     struct kx_fault *fault)
{
    enum kx_status status = read_timeline(directory, name, fault);
    if (status != KX_ABSENT)
        return status;
    uuid_make(name);
    return write_timeline(directory, name)
               ? KX_OK
               : kx_fail(fault, KX_BAD_DIRECTORY, "%s: %s", directory,
                         strerror(errno));
}

enum kx_status archive_timeline_begin(void *mem,
                                      const struct kx_options *options,
                                      char *out, struct kx_fault *fault)
{
    char name[UUID_SIZE];
    const struct kx_object_store *objects = object_store_of(options->objects);
    enum kx_status status =
        objects->make(objects->self, options->archive, fault);
    if (status == KX_OK)
        status = archive_timeline_name(options->directory, name, fault);
    if (status != KX_OK)
        return status;
    snprintf(out, ARCHIVE_PATH, "%s/%s", options->archive, name);
    if (!objects->is_directory)
        return KX_OK;
    status = objects->make(objects->self, out, fault);
    return status == KX_OK ? claim(mem, out, options->directory, fault)
                           : status;
}
