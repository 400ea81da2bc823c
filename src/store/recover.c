/* If the checks find damage, or the library cannot open the directory, and an
 * archive has the store: the store's files are moved aside, the archive's state
 * takes their place, and the remaining log is replayed from the damaged files.
 * Without an archive nothing changes. */
#include "store/recover.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <talloc.h>
#include <time.h>
#include <unistd.h>

#include "backup/archive_names.h"
#include "backup/archive_restore.h"
#include "backup/archive_timeline.h"
#include "backup/object_dir.h"
#include "backup/restore.h"
#include "base/file.h"
#include "storage/directory.h"
#include "storage/log_end.h"
#include "storage/log_files.h"

/* Finds damage that the library does not notice: the library recreates a
 * missing file, takes a damaged record for the end of the log, and takes the
 * records after it for never written. */

enum { NEW_TABLE_BYTES = 2 * PAGE_BYTES };

/* A log file, to be compared with the archive's part of it. */
struct tail_compare {
    FILE *whole; /* NULL: the log file is missing */
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

/* KX_DAMAGED: the file is missing or does not begin like the archived part,
 * whose size is *size_out. KX_ABSENT: the archive has no part of the file. */
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

/* Returns whether the whole log can be read, at least as far as the archive has
 * it. If so, the archive is damaged, and its part is discarded, so that it will
 * be copied again. */
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

/* Compares the log file that was archived last, perhaps incompletely, with the
 * one in the directory. */
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

/* If the archive cannot be reached now, the server starts anyway. */
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

/* A missing table has the size 0. */
static enum kx_status measure_table(const char *directory, enum table table,
                                    uint64_t *size_out, struct kx_fault *fault)
{
    char path[ARCHIVE_PATH];
    snprintf(path, sizeof path, "%s/%s", directory, table_file(table));
    enum kx_status status = file_measure(path, size_out, fault);
    return status == KX_ABSENT ? KX_OK : status;
}

/* Tables are created in the order of their numbers. So after a crash only the
 * last ones can be missing, in a store without entries that was never complete.
 */
static enum kx_status look_at_tables(const char *directory,
                                     struct kx_fault *fault)
{
    uint64_t sizes[TABLE_COUNT];
    bool later = false;
    enum kx_status status = directory_complete_exists(directory, fault);
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

/* Checks that a restore into options->directory has finished, that this program
 * knows the format, that all tables exist, that every page has its checksum,
 * and that the log can be read as far as the archive (options->archive, or
 * NULL) has it. Checks only the first options->check_pages pages unless the
 * directory is suspect; the walk says how far it got. Changes one thing only:
 * if the log is sound and the archive's copy of it is damaged, renames that
 * copy, so that it is recreated. KX_OK; KX_DAMAGED, with a fault that says what
 * is damaged; KX_BAD_DIRECTORY: unknown format; other statuses: a check could
 * not be made. */
static enum kx_status dir_inspect(const struct kx_options *options,
                                  struct page_walk *walk,
                                  struct kx_fault *fault)
{
    uint64_t most = directory_suspect_exists(options->directory)
                        ? UINT64_MAX
                        : options->check_pages;
    *walk = (struct page_walk){.tables = TABLE_COUNT};
    enum kx_status status = restore_broken_off(options->directory, fault);
    if (status == KX_OK)
        return kx_fail(fault, KX_DAMAGED, "a restore into it was interrupted");
    if (status == KX_ABSENT)
        status = directory_format_look(options->directory, fault);
    if (status != KX_OK) /* an unknown format is not damage */
        return status;
    status = look_at_tables(options->directory, fault);
    if (status == KX_OK)
        status = page_check(options->directory, walk, most, fault);
    struct log_end logend = {.directory = options->directory};
    if (status == KX_OK)
        status = log_end_find(&logend, fault);
    return status == KX_OK ? look_at_log(options, fault) : status;
}

static const char ASIDE[] = "damaged-"; /* prefix, followed by the time */
enum { ASIDE_MAX = 9 /* directories of one second */ };

/* Returns whether a file is the store's. The lock, the ballast, the directories
 * of earlier damaged files, and the marker of an unfinished restore stay. Other
 * files, such as a token file or an archive, are not the store's. */
static bool goes_aside(const char *name)
{
    static const char *const starts[] = {"log.",     "next-log",  "format",
                                         "timeline", "backed-up", "complete",
                                         "__db."};
    size_t size = strlen(name);
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return size > 3 && strcmp(name + size - 3, ".db") == 0;
}

struct move {
    const char *from;
    const char *to;
};

/* If the file is already aside, an interrupted recovery moved it there. The one
 * here is then only what that recovery restored, and is removed. */
static bool move_file(void *target, const char *name)
{
    const struct move *move = target;
    char old[2 * ARCHIVE_PATH], new[2 * ARCHIVE_PATH];
    snprintf(old, sizeof old, "%s/%s", move->from, name);
    snprintf(new, sizeof new, "%s/%s", move->to, name);
    if (!goes_aside(name))
        return true;
    if (access(new, F_OK) == 0)
        return unlink(old) == 0;
    return errno == ENOENT && rename(old, new) == 0;
}

/* The names sort by their times. */
static bool find_newest(void *target, const char *name)
{
    char *newest = target;
    if (strncmp(name, ASIDE, sizeof ASIDE - 1) == 0 && strcmp(name, newest) > 0)
        snprintf(newest, NAME_MAX + 1, "%s", name);
    return true;
}

/* Creates a new directory, with a number in its name if an earlier recovery of
 * the same second created one. */
static bool make_aside(const char *directory, char *aside)
{
    char moment[32];
    time_t now = (time_t)(kx_now_ms() / 1000);
    struct tm parts;
    strftime(moment, sizeof moment, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &parts));
    snprintf(aside, ARCHIVE_PATH, "%s/%s%s", directory, ASIDE, moment);
    bool made = mkdir(aside, 0700) == 0;
    for (int n = 2; !made && errno == EEXIST && n <= ASIDE_MAX; n++) {
        snprintf(aside, ARCHIVE_PATH, "%s/%s%s-%d", directory, ASIDE, moment,
                 n);
        made = mkdir(aside, 0700) == 0;
    }
    return made;
}

/* Chooses the directory for the damaged files: that of an interrupted recovery,
 * which has the only complete log, or a new one. */
static bool choose_aside(const char *directory, char *aside)
{
    char newest[NAME_MAX + 1] = "";
    enum kx_status status = restore_broken_off(directory, NULL);
    if (status != KX_ABSENT &&
        (status != KX_OK || !file_each(directory, find_newest, newest)))
        return false;
    if (newest[0] == '\0')
        return make_aside(directory, aside);
    snprintf(aside, ARCHIVE_PATH, "%s/%s", directory, newest);
    return true;
}

/* Writes the restore marker before it moves the files: a directory from which
 * all files were moved would be taken for a new one. */
static enum kx_status put_aside(const char *directory, char *aside,
                                struct kx_fault *fault)
{
    struct move move = {directory, aside};
    snprintf(aside, ARCHIVE_PATH, "%s", directory);
    if (choose_aside(directory, aside) && restore_begin(directory) &&
        file_each(directory, move_file, &move))
        return KX_OK;
    return file_failed(aside, fault);
}

/* Skips no damage: the user must decide what to do about unreadable data that
 * the archive lacks. */
static enum kx_status give_up(const char *timeline, const char *aside,
                              enum kx_status status, struct kx_fault *fault)
{
    char detail[KX_DETAIL_MAX];
    if (status != KX_BAD_ARCHIVE && status != KX_DAMAGED)
        return status;
    snprintf(detail, sizeof detail, "%s", fault->detail);
    return kx_fail(fault, status,
                   "%s. kindex restore %s --data NEW restores what the archive "
                   "has; the damaged files are in %s",
                   detail, timeline, aside);
}

/* Finds the store's timeline in the archive by the directory's note, which an
 * interrupted recovery may have moved aside. Never takes another store's
 * timeline. KX_ABSENT: the archive has no base of this store. */
static enum kx_status find_timeline(const struct kx_options *options,
                                    char *timeline, struct kx_fault *fault)
{
    char newest[NAME_MAX + 1] = "";
    char aside[2 * ARCHIVE_PATH];
    enum kx_status status =
        archive_timeline(options->archive, options->directory, timeline, fault);
    if (status == KX_ABSENT &&
        file_each(options->directory, find_newest, newest) &&
        newest[0] != '\0') {
        snprintf(aside, sizeof aside, "%s/%s", options->directory, newest);
        status = archive_timeline(options->archive, aside, timeline, fault);
    }
    if (status != KX_OK)
        return status;
    return archive_has_base(object_store_of(options->objects), timeline, fault);
}

/* Replays the damaged directory's log from where the archive ends. */
static enum kx_status recover(const struct kx_options *options,
                              const char *timeline, struct dir_lock *lock,
                              struct kx_fault *fault)
{
    char aside[ARCHIVE_PATH];
    uint64_t known = 0;
    struct kx_restore restore = {.source = timeline,
                                 .objects = options->objects,
                                 .directory = options->directory};
    enum kx_status status = put_aside(options->directory, aside, fault);
    if (status == KX_OK)
        status = archive_restore_with(&restore, aside, &known, fault);
    if (status == KX_OK)
        status = restore_replay(options->directory, lock, known, &restore.stamp,
                                fault);
    if (status == KX_OK && !restore_end(options->directory))
        status = kx_fail(fault, KX_FAILED, "%s: %s", options->directory,
                         strerror(errno));
    if (status == KX_OK)
        kx_log(KX_LOG_WARNING, "restored",
               "archive=%s damaged=%s versionstamp=%016llx0000",
               options->archive, aside, (unsigned long long)restore.stamp);
    return give_up(timeline, aside, status, fault);
}

static enum kx_status refuse(const struct kx_options *options,
                             struct kx_fault *fault)
{
    char detail[KX_DETAIL_MAX];
    snprintf(detail, sizeof detail, "%s", fault->detail);
    return kx_fail(
        fault, KX_DAMAGED,
        "%s is damaged: %s. Restore a backup into a new directory (kindex "
        "restore BACKUP --data NEW) and serve that; a server with an --archive "
        "of this store does it automatically",
        options->directory, detail);
}

static enum kx_status open_or_mend(struct kx_store *store,
                                   const struct env_options *options,
                                   struct kx_fault *fault)
{
    char timeline[ARCHIVE_PATH];
    struct kx_fault unknown;
    enum kx_status status = archive_look_for_other(&store->options, fault);
    if (status == KX_OK)
        status = dir_inspect(&store->options, store->unchecked, fault);
    if (status != KX_OK && status != KX_DAMAGED)
        return status; /* no damage was found, so nothing is changed */
    if (status == KX_OK)
        status = env_open(store, options, &store->env, fault);
    if (status != KX_DAMAGED && status != KX_FAILED)
        return status;
    kx_log(KX_LOG_ERROR, "damaged", "directory=%s detail=\"%s\"",
           options->directory, fault->detail);
    if (store->options.archive == NULL)
        return refuse(&store->options, fault);
    if (find_timeline(&store->options, timeline, &unknown) != KX_OK)
        return refuse(&store->options, fault);
    status = recover(&store->options, timeline, options->lock, fault);
    store->unchecked->tables = 0;
    return status == KX_OK ? env_open(store, options, &store->env, fault)
                           : status;
}

/* Leaves the remaining pages to the checkpointer. If all were checked, the
 * directory is no longer suspect. */
static void look_at_the_rest_later(struct kx_store *store)
{
    struct page_walk *walk = store->unchecked;
    walk->shared = true;
    if (walk->tables == 0)
        directory_suspect_clear(store->options.directory);
}

/* The caller's fault may be NULL; this file needs a fault. */
enum kx_status recover_open(struct kx_store *store,
                            const struct env_options *options,
                            struct kx_fault *fault)
{
    struct env_options locked = *options;
    struct kx_fault why = {.detail = ""};
    enum kx_status status = directory_foreign_look(&store->options, &why);
    if (status == KX_OK) {
        (void)file_make_parents(
            options->directory); /* dir_lock_take says why */
        status = dir_lock_take(store, options->directory, &locked.lock, &why);
    }
    store->unchecked = talloc_zero(store, struct page_walk);
    if (status == KX_OK && store->unchecked == NULL)
        status = kx_fail(&why, KX_NO_MEMORY, "no memory");
    if (status == KX_OK)
        status = open_or_mend(store, &locked, &why);
    if (status == KX_OK)
        look_at_the_rest_later(store);
    if (fault != NULL && status != KX_OK)
        *fault = why;
    return status;
}
