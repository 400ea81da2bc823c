/* Finds damage that the library would not notice: it creates a missing file
 * again, and takes a damaged record for the end of the log, and the records
 * after it for never written. */
#include "store/dir_inspect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backup/archive_names.h"
#include "backup/archive_timeline.h"
#include "backup/object_dir.h"
#include "storage/init_marker.h"
#include "storage/format.h"
#include "storage/log_end.h"
#include "storage/log_files.h"
#include "storage/suspect.h"
#include "base/file.h"
#include "backup/restore.h"

enum { NEW_TABLE_BYTES = 2 * PAGE_BYTES };

/* A log file beside the archive's part of it. */
struct tail_compare {
    FILE *whole; /* NULL: it is missing */
    uint64_t size;
    bool same;
};

static bool compare_bytes(void *target, struct kx_slice bytes)
{
    struct tail_compare *tail = target;
    char read[4096];
    for (size_t at = 0; tail->same && at < bytes.size;) {
        size_t size =
            bytes.size - at < sizeof read ? bytes.size - at : sizeof read;
        tail->same = tail->whole != NULL &&
                     fread(read, 1, size, tail->whole) == size &&
                     memcmp(read, bytes.data + at, size) == 0;
        at += size;
    }
    tail->size += bytes.size;
    return true;
}

static bool is_same(const struct tail_compare *tail)
{
    return tail->whole != NULL && tail->same;
}

/* KX_DAMAGED: the file is missing or does not begin like the archived one,
 * whose size goes to *size_out. KX_ABSENT: the archive has no such part. */
static enum kx_status compare(const struct kx_options *options,
                              const char *path, const char *tail_path,
                              uint64_t *size_out, struct kx_fault *fault)
{
    const struct kx_object_store *objects = object_store_of(options->objects);
    struct tail_compare tail = {.same = true};
    tail.whole = fopen(path, "rbe");
    if (tail.whole == NULL && errno != ENOENT)
        return file_failed(path, fault);
    enum kx_status status =
        objects->get(objects->self, tail_path, compare_bytes, &tail, fault);
    if (tail.whole != NULL)
        fclose(tail.whole);
    *size_out = tail.size;
    if (status == KX_OK && !is_same(&tail))
        status = kx_fail(fault, KX_DAMAGED,
                         "%s differs from its copy in the archive", path);
    return status;
}

/* Moves the archive's part of a log file out of the way. */
static bool discard(const struct kx_options *options, const char *tail)
{
    const struct kx_object_store *objects = object_store_of(options->objects);
    struct kx_fault fault;
    char aside[ARCHIVE_PATH + 16];
    if (!objects->is_directory)
        return objects->remove(objects->self, tail, &fault) == KX_OK;
    snprintf(aside, sizeof aside, "%s.damaged", tail);
    return rename(tail, aside) == 0;
}

/* True if the whole log can be read, at least as far as the archive has it:
 * then the archive is damaged. Its part is discarded, so that it will be copied
 * again. */
static bool log_is_right(const struct kx_options *options, uint32_t file,
                         const char *tail, uint64_t size)
{
    struct kx_fault fault;
    struct log_end logend = {.directory = options->directory, .whole = true};
    if (log_end_find(&logend, &fault) != KX_OK || logend.end.file < file ||
        (logend.end.file == file && logend.end.offset < size) ||
        !discard(options, tail))
        return false;
    kx_log(KX_LOG_WARNING, "archive",
           "detail=\"%s is damaged: it is copied again\"", tail);
    return true;
}

/* Compares the log file that was archived last, which may be incomplete there,
 * with the directory's. */
static enum kx_status look_at_tail(const struct kx_options *options,
                                   const char *timeline, struct kx_fault *fault)
{
    char tail[ARCHIVE_PATH], name[LOG_NAME], path[ARCHIVE_PATH];
    uint32_t last, first, newest;
    uint64_t size = 0;
    enum kx_status status = archive_last_log(object_store_of(options->objects),
                                             timeline, &last, fault);
    if (status != KX_OK)
        return status;
    if (!log_files_span(options->directory, &first, &newest))
        return file_failed(options->directory, fault);
    if (first > last) /* the store ran without its archive */
        return KX_OK;
    archive_tail_path(timeline, last, tail);
    log_files_name(last, name);
    snprintf(path, sizeof path, "%s/%s", options->directory, name);
    status = compare(options, path, tail, &size, fault);
    return status == KX_DAMAGED && log_is_right(options, last, tail, size)
               ? KX_OK
               : status;
}

/* An archive that cannot be reached now does not keep the server from starting.
 */
static enum kx_status look_at_log(const struct kx_options *options,
                                  struct kx_fault *fault)
{
    char timeline[ARCHIVE_PATH];
    if (options->archive == NULL)
        return KX_OK;
    enum kx_status status =
        archive_timeline(options->archive, options->directory, timeline, fault);
    if (status == KX_OK)
        status = look_at_tail(options, timeline, fault);
    if (status == KX_UNREACHABLE)
        kx_log(KX_LOG_WARNING, "archive",
               "detail=\"the end of the log is not compared with the archive: "
               "%s\"",
               fault->detail);
    return status == KX_ABSENT || status == KX_UNREACHABLE ? KX_OK : status;
}

/* A missing table has size 0. */
static enum kx_status measure_table(const char *directory, enum table table,
                                    uint64_t *size_out, struct kx_fault *fault)
{
    char path[ARCHIVE_PATH];
    snprintf(path, sizeof path, "%s/%s", directory, table_file(table));
    enum kx_status status = file_measure(path, size_out, fault);
    return status == KX_ABSENT ? KX_OK : status;
}

/* Tables are made in the order of their numbers. So only the last ones can be
 * missing after a crash, in a store without entries whose init never finished.
 */
static enum kx_status look_at_tables(const char *directory,
                                     struct kx_fault *fault)
{
    uint64_t sizes[TABLE_COUNT];
    bool later = false;
    enum kx_status status = init_marker_exists(directory, fault);
    bool had_all = status == KX_OK;
    if (status == KX_ABSENT)
        status = KX_OK;
    for (int i = 0; status == KX_OK && i < TABLE_COUNT; i++)
        status = measure_table(directory, i, &sizes[i], fault);
    if (status != KX_OK)
        return status;
    had_all = had_all || sizes[TABLE_ENTRIES] > NEW_TABLE_BYTES;
    for (int i = TABLE_COUNT; i-- > 0;) {
        bool there = sizes[i] >= PAGE_BYTES;
        if (!there && (later || had_all))
            return kx_fail(fault, KX_DAMAGED, "%s is missing or empty",
                           table_file(i));
        later = later || there;
    }
    return KX_OK;
}

enum kx_status dir_inspect(const struct kx_options *options,
                           struct page_walk *walk, struct kx_fault *fault)
{
    uint64_t most =
        suspect_exists(options->directory) ? UINT64_MAX : options->check_pages;
    *walk = (struct page_walk){.tables = TABLE_COUNT};
    enum kx_status status = restore_broken_off(options->directory, fault);
    if (status == KX_OK)
        return kx_fail(fault, KX_DAMAGED, "a restore into it was interrupted");
    if (status == KX_ABSENT)
        status = format_look(options->directory, fault);
    if (status != KX_OK) /* an unknown format is no damage */
        return status;
    status = look_at_tables(options->directory, fault);
    if (status == KX_OK)
        status = page_check(options->directory, walk, most, fault);
    struct log_end logend = {.directory = options->directory};
    if (status == KX_OK)
        status = log_end_find(&logend, fault);
    return status == KX_OK ? look_at_log(options, fault) : status;
}
