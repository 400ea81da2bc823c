/* Finds damage that the library would not notice: it creates a missing file
 * again, and takes a damaged record for the end of the log, and the records
 * after it for never written. */
#include "store/dir_inspect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/archive_names.h"
#include "backup/archive_timeline.h"
#include "storage/init_marker.h"
#include "storage/format.h"
#include "storage/log_end.h"
#include "storage/log_files.h"
#include "base/file.h"
#include "bdb/page_check.h"
#include "backup/restore.h"

enum { NEW_TABLE_BYTES = 2 * PAGE_BYTES };

static bool same_start(FILE *whole, FILE *start)
{
    char a[4096], b[sizeof a];
    size_t size;
    bool same = true;
    while (same && (size = fread(b, 1, sizeof b, start)) > 0)
        same = fread(a, 1, size, whole) == size && memcmp(a, b, size) == 0;
    return same;
}

/* KX_DAMAGED: the file is missing or does not begin like the archived one. */
static enum kx_status compare(const char *path, const char *start,
                              struct kx_fault *fault)
{
    FILE *second = fopen(start, "rbe");
    if (second == NULL)
        return file_failed(start, fault);
    FILE *first = fopen(path, "rbe");
    enum kx_status status = KX_OK;
    if (first == NULL && errno != ENOENT)
        status = file_failed(path, fault);
    else if (first == NULL || !same_start(first, second))
        status = kx_fail(fault, KX_DAMAGED,
                         "%s differs from its copy in the archive", path);
    fclose(second);
    if (first != NULL)
        fclose(first);
    return status;
}

/* True if the whole log can be read, at least as far as the archive has it:
 * then the archive is damaged. Its part is renamed, so that it will be copied
 * again. */
static bool log_is_right(const char *directory, uint32_t file, const char *tail)
{
    struct kx_fault fault;
    struct stat about;
    char aside[ARCHIVE_PATH + 16];
    struct log_end logend = {.directory = directory, .whole = true};
    snprintf(aside, sizeof aside, "%s.damaged", tail);
    if (log_end_find(&logend, &fault) != KX_OK || stat(tail, &about) != 0 ||
        logend.end.file < file ||
        (logend.end.file == file &&
         (int64_t)logend.end.offset < (int64_t)about.st_size) ||
        rename(tail, aside) != 0)
        return false;
    kx_log(KX_LOG_WARNING, "archive",
           "detail=\"%s is damaged: it is copied again\"", tail);
    return true;
}

/* Compares the log file that was archived last, which may be incomplete there,
 * with the directory's. */
static enum kx_status look_at_log(const struct kx_options *options,
                                  struct kx_fault *fault)
{
    char timeline[ARCHIVE_PATH], tail[ARCHIVE_PATH], name[LOG_NAME];
    char path[ARCHIVE_PATH];
    uint32_t last, first, newest;
    if (options->archive == NULL)
        return KX_OK;
    enum kx_status status =
        archive_timeline(options->archive, options->directory, timeline, fault);
    if (status != KX_OK)
        return status == KX_ABSENT ? KX_OK : status;
    if (!archive_last_log(timeline, &last))
        return errno == ENOENT ? KX_OK : file_failed(timeline, fault);
    if (!log_files_span(options->directory, &first, &newest))
        return file_failed(options->directory, fault);
    if (first > last) /* the store ran without its archive */
        return KX_OK;
    archive_tail_path(timeline, last, tail);
    log_files_name(last, name);
    snprintf(path, sizeof path, "%s/%s", options->directory, name);
    if (access(tail, F_OK) != 0)
        return KX_OK;
    status = compare(path, tail, fault);
    return status == KX_DAMAGED && log_is_right(options->directory, last, tail)
               ? KX_OK
               : status;
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
                           struct kx_fault *fault)
{
    enum kx_status status = restore_broken_off(options->directory, fault);
    if (status == KX_OK)
        return kx_fail(fault, KX_DAMAGED, "a restore into it was interrupted");
    if (status == KX_ABSENT)
        status = format_look(options->directory, fault);
    if (status != KX_OK) /* an unknown format is no damage */
        return status;
    status = look_at_tables(options->directory, fault);
    if (status == KX_OK)
        status = page_check(options->directory, fault);
    struct log_end logend = {.directory = options->directory};
    if (status == KX_OK)
        status = log_end_find(&logend, fault);
    return status == KX_OK ? look_at_log(options, fault) : status;
}
