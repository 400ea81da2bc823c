/* A base, then its log files one after the other. The log is cut after a mark
 * (log_marks.h). */
#include "backup/archive_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kindex/clock.h"
#include "storage/log_end.h"
#include "storage/log_marks.h"
#include "base/file.h"
#include "backup/restore_files.h"
#include "backup/zstd_file.h"

/* ---- The base ----------------------------------------------------------- */

struct choice {
    const struct kx_restore *restore;
    struct archive_base best;
    bool found;
    int64_t oldest_ms;        /* of the bases of its timeline */
    char other[ARCHIVE_PATH]; /* another timeline that may be meant, or "" */
};

/* Bases of different timelines are compared by their times, as one timeline
 * continues another. */
static bool is_better(const struct archive_base *base,
                      const struct archive_base *best)
{
    return strcmp(base->timeline, best->timeline) == 0
               ? archive_compare_bases(base, best) > 0
               : base->at_ms > best->at_ms;
}

static void consider(void *target, const struct archive_base *base)
{
    struct choice *choice = target;
    const struct kx_restore *to = choice->restore;
    if ((to->to_stamp != 0 && base->stamp > to->to_stamp) ||
        (to->to_ms != 0 && base->at_ms > to->to_ms) ||
        (choice->found && !is_better(base, &choice->best)))
        return;
    choice->best = *base;
    choice->found = true;
}

static void note_oldest(void *target, const struct archive_base *base)
{
    struct choice *choice = target;
    if (choice->oldest_ms == 0 || base->at_ms < choice->oldest_ms)
        choice->oldest_ms = base->at_ms;
}

struct newest {
    const char *directory;
    int64_t at_ms;
};

static bool note_time(void *target, const char *name)
{
    struct newest *newest = target;
    char path[2 * ARCHIVE_PATH];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", newest->directory, name);
    int64_t at_ms = stat(path, &about) != 0
                        ? INT64_MAX
                        : (int64_t)about.st_mtim.tv_sec * 1000 +
                              about.st_mtim.tv_nsec / KX_MS_NS;
    if (at_ms > newest->at_ms)
        newest->at_ms = at_ms;
    return true;
}

/* A timeline that ended before the chosen one began is the one that the chosen
 * one continues, or was abandoned. One that continued belongs to another store.
 */
static void find_other(void *target, const struct archive_base *base)
{
    struct choice *choice = target;
    struct choice alone = {.restore = choice->restore};
    struct newest newest = {.directory = base->timeline};
    consider(&alone, base);
    if (!alone.found || strcmp(base->timeline, choice->best.timeline) == 0)
        return;
    if (!file_each(base->timeline, note_time, &newest) ||
        newest.at_ms >= choice->oldest_ms)
        snprintf(choice->other, sizeof choice->other, "%s", base->timeline);
}

/* Chooses among the timelines of several stores: the last base of the timeline
 * with the latest one. */
static enum kx_status choose_timeline(struct choice *choice,
                                      struct kx_fault *fault)
{
    const char *archive = choice->restore->source;
    if (!archive_all_bases(archive, consider, choice) ||
        (choice->found &&
         (!archive_bases(choice->best.timeline, consider, choice) ||
          !archive_bases(choice->best.timeline, note_oldest, choice) ||
          !archive_all_bases(archive, find_other, choice))))
        return file_failed(archive, fault);
    if (choice->other[0] == '\0')
        return KX_OK;
    return kx_fail(fault, KX_BAD_ARCHIVE,
                   "%s has more than one continuation of the store: restore "
                   "from the directory of one of them, such as %s or %s",
                   archive, choice->best.timeline, choice->other);
}

/* The source may be the directory of one timeline. */
static enum kx_status choose(struct choice *choice, struct kx_fault *fault)
{
    const char *archive = choice->restore->source;
    if (!archive_bases(archive, consider, choice))
        return file_failed(archive, fault);
    enum kx_status status =
        choice->found ? KX_OK : choose_timeline(choice, fault);
    if (status != KX_OK || choice->found)
        return status;
    return kx_fail(fault, KX_BAD_ARCHIVE,
                   "%s has no backup from before the point to restore to",
                   archive);
}

static void find_any(void *target, const struct archive_base *base)
{
    (void)base;
    *(bool *)target = true;
}

bool archive_has_base(const char *timeline)
{
    bool found = false;
    return archive_bases(timeline, find_any, &found) && found;
}

/* ---- The log ------------------------------------------------------------ */

/* True if there was no error. */
static bool may_be_absent(enum kx_status status)
{
    return status == KX_OK || status == KX_ABSENT;
}

/* Writes `from` over the beginning of `to` if it exists and is not shorter than
 * the `size` bytes that it covers; otherwise KX_ABSENT. */
static enum kx_status write_over_shorter(const char *from, const char *to,
                                         uint64_t size, struct kx_fault *fault)
{
    uint64_t has;
    enum kx_status status = file_measure(from, &has, fault);
    if (status != KX_OK)
        return status;
    return has < size ? KX_ABSENT : restore_files_write_over(from, to, fault);
}

/* Writes what the damaged directory and the archive have of log file n over the
 * part in the base, which ends earlier. The archive's part is written last,
 * because the other may be damaged. KX_ABSENT: none of them has any. */
static enum kx_status fetch_parts(const struct choice *choice, uint32_t n,
                                  const char *rest, const char *to,
                                  struct kx_fault *fault)
{
    char name[LOG_NAME], from[ARCHIVE_PATH];
    uint64_t size;
    enum kx_status status = file_measure(to, &size, fault);
    bool there = status == KX_OK;
    if (rest != NULL && may_be_absent(status)) {
        log_files_name(n, name);
        snprintf(from, sizeof from, "%s/%s", rest, name);
        status = write_over_shorter(from, to, size, fault);
        there = there || status == KX_OK;
    }
    archive_tail_path(choice->best.timeline, n, from);
    if (may_be_absent(status))
        status = write_over_shorter(from, to, size, fault);
    return status == KX_ABSENT && there ? KX_OK : status;
}

/* Copies log file n into the directory, from the source that has most of it.
 * KX_ABSENT: no source has it. */
static enum kx_status fetch(const struct choice *choice, uint32_t n,
                            const char *rest, struct kx_fault *fault)
{
    char name[LOG_NAME], to[ARCHIVE_PATH], from[ARCHIVE_PATH];
    uint64_t size;
    log_files_name(n, name);
    snprintf(to, sizeof to, "%s/%s", choice->restore->directory, name);
    archive_log_path(choice->best.timeline, n, from);
    enum kx_status status = file_measure(from, &size, fault);
    if (status == KX_OK)
        return zstd_file_expand(from, to, fault);
    return status == KX_ABSENT ? fetch_parts(choice, n, rest, to, fault)
                               : status;
}

/* Sets *last_out to the number of the last log file in the timeline or in
 * `rest`. */
static bool find_last(const char *timeline, const char *rest,
                      uint32_t *last_out)
{
    uint32_t first, last = 0;
    if (!archive_last_log(timeline, last_out) ||
        (rest != NULL && !log_files_span(rest, &first, &last)))
        return false;
    if (last > *last_out)
        *last_out = last;
    return true;
}

/* Describes what is missing of the log from file n on; "": nothing, it ends
 * there. */
static enum kx_status describe_missing(const struct choice *choice, uint32_t n,
                                       const char *rest, char *missing_out,
                                       struct kx_fault *fault)
{
    uint32_t last;
    if (!find_last(choice->best.timeline, rest, &last))
        return file_failed(choice->best.timeline, fault);
    if (last > n)
        snprintf(missing_out, KX_DETAIL_MAX, "log file %u is missing in %s", n,
                 choice->restore->source);
    return KX_OK;
}

/* Log files that are complete in the base are kept. After one that is missing,
 * or damaged in the archive, no further file is usable: missing_out describes
 * it. */
static enum kx_status fetch_all(const struct choice *choice, const char *rest,
                                char *missing_out, struct kx_fault *fault)
{
    uint32_t first, n;
    enum kx_status status = KX_OK;
    if (!log_files_span(choice->restore->directory, &first, &n))
        return file_failed(choice->restore->directory, fault);
    while ((status = fetch(choice, n, rest, fault)) == KX_OK)
        n++;
    if (status == KX_ABSENT)
        return describe_missing(choice, n, rest, missing_out, fault);
    if (status != KX_BAD_ARCHIVE)
        return status;
    snprintf(missing_out, KX_DETAIL_MAX, "%s", fault->detail);
    return KX_OK;
}

/* ---- The point ---------------------------------------------------------- */

struct cut {
    const struct kx_restore *restore;
    struct log_place base_end;
    uint64_t base_stamp;
    char missing[KX_DETAIL_MAX]; /* of the log; "": nothing */
    struct log_mark last;        /* not after the point */
    uint64_t known;
    bool beyond; /* there are marks after it */
};

static bool take_mark(void *target, const struct log_mark *mark)
{
    struct cut *cut = target;
    const struct kx_restore *to = cut->restore;
    bool late = (to->to_stamp != 0 && mark->stamp > to->to_stamp) ||
                (to->to_ms != 0 && mark->at_ms > to->to_ms);
    if (mark->stamp > cut->known)
        cut->known = mark->stamp;
    cut->beyond = cut->beyond || late;
    if (!cut->beyond)
        cut->last = *mark;
    return true;
}

static bool is_after(const struct log_place *a, const struct log_place *b)
{
    return a->file > b->file || (a->file == b->file && a->offset > b->offset);
}

/* Removes a log file, or its bytes after the place. */
static enum kx_status cut_file(const char *path, uint32_t n,
                               struct log_place place, struct kx_fault *fault)
{
    uint64_t size;
    if (n > place.file)
        return unlink(path) == 0 ? KX_OK : file_failed(path, fault);
    enum kx_status status = file_measure(path, &size, fault);
    if (status == KX_OK && place.offset < size &&
        truncate(path, place.offset) != 0)
        status = file_failed(path, fault);
    return status == KX_ABSENT ? KX_OK : status;
}

/* Removes all of the log after the place. */
static enum kx_status cut_log(const char *directory, struct log_place place,
                              struct kx_fault *fault)
{
    char name[LOG_NAME], path[ARCHIVE_PATH];
    uint32_t first, last;
    enum kx_status status = KX_OK;
    if (!log_files_span(directory, &first, &last))
        return file_failed(directory, fault);
    for (uint32_t n = last; status == KX_OK && n >= place.file && n > 0; n--) {
        log_files_name(n, name);
        snprintf(path, sizeof path, "%s/%s", directory, name);
        status = cut_file(path, n, place, fault);
    }
    return status;
}

/* Checks that the log reaches the point. */
static enum kx_status check_end(const struct cut *cut, struct kx_fault *fault)
{
    const struct kx_restore *to = cut->restore;
    if (cut->beyond || (to->to_stamp != 0 && to->to_stamp <= cut->known))
        return KX_OK;
    if (cut->missing[0] != '\0')
        return kx_fail(fault, KX_BAD_ARCHIVE,
                       "%s; it can be restored up to versionstamp %016" PRIx64
                       "0000",
                       cut->missing, cut->known);
    if (to->to_stamp > cut->known && to->to_stamp > cut->base_stamp)
        return kx_fail(fault, KX_BAD_ARCHIVE,
                       "%s ends at versionstamp %016" PRIx64 "0000", to->source,
                       cut->known);
    return KX_OK;
}

/* A log that continues after its readable part is cut there, if the point is
 * before that. */
static enum kx_status check_rest(const struct cut *cut, struct kx_fault *fault)
{
    char detail[KX_DETAIL_MAX];
    const struct kx_restore *to = cut->restore;
    struct log_end log_end = {.directory = to->directory, .whole = true};
    enum kx_status status = log_end_find(&log_end, fault);
    if (status != KX_DAMAGED)
        return status;
    if (to->to_stamp != 0 && to->to_stamp <= cut->known &&
        !is_after(&cut->base_end, &log_end.end))
        return cut_log(to->directory, log_end.end, fault);
    snprintf(detail, sizeof detail, "%s", fault->detail);
    return kx_fail(fault, KX_BAD_ARCHIVE,
                   "%s: %s; it can be restored up to versionstamp %016" PRIx64
                   "0000",
                   to->source, detail, cut->known);
}

/* The log in the base must stay, because the pages of the base may have all of
 * its changes. */
static enum kx_status cut_at_point(struct kx_restore *restore, struct cut *cut,
                                   struct kx_fault *fault)
{
    enum kx_status status =
        log_marks_read(restore->directory, take_mark, cut, fault);
    if (status == KX_OK)
        status = check_end(cut, fault);
    restore->at_ms = cut->last.at_ms;
    if (status == KX_OK && !cut->beyond)
        return check_rest(cut, fault);
    if (status != KX_OK)
        return status;
    if (is_after(&cut->base_end, &cut->last.end))
        cut->last.end = cut->base_end;
    return cut_log(restore->directory, cut->last.end, fault);
}

static enum kx_status find_end(const char *directory, struct log_place *end_out,
                               struct kx_fault *fault)
{
    char name[LOG_NAME], path[ARCHIVE_PATH];
    uint32_t first;
    uint64_t size;
    if (!log_files_span(directory, &first, &end_out->file))
        return file_failed(directory, fault);
    log_files_name(end_out->file, name);
    snprintf(path, sizeof path, "%s/%s", directory, name);
    enum kx_status status = file_measure(path, &size, fault);
    end_out->offset = (uint32_t)size;
    return may_be_absent(status) ? KX_OK : status;
}

/* A damaged base is not all that there is. */
static enum kx_status unpack_base(const struct choice *choice,
                                  struct kx_fault *fault)
{
    char path[2 * ARCHIVE_PATH], detail[KX_DETAIL_MAX];
    snprintf(path, sizeof path, "%s/%s", choice->best.timeline,
             choice->best.name);
    enum kx_status status = restore_files_unpack(choice->restore, path, fault);
    if (status != KX_BAD_ARCHIVE)
        return status;
    snprintf(detail, sizeof detail, "%s", fault->detail);
    return kx_fail(fault, status,
                   "%s; without that file the backup before it is restored, if "
                   "there is one",
                   detail);
}

enum kx_status archive_restore_with(struct kx_restore *restore,
                                    const char *rest, uint64_t *known_out,
                                    struct kx_fault *fault)
{
    struct choice choice = {.restore = restore};
    struct cut cut = {.restore = restore};
    enum kx_status status = choose(&choice, fault);
    if (status != KX_OK)
        return status;
    status = unpack_base(&choice, fault);
    cut.base_stamp = choice.best.stamp;
    if (status == KX_OK)
        status = find_end(restore->directory, &cut.base_end, fault);
    if (status == KX_OK)
        status = fetch_all(&choice, rest, cut.missing, fault);
    if (status == KX_OK)
        status = cut_at_point(restore, &cut, fault);
    *known_out = cut.known;
    return status;
}

enum kx_status archive_restore(struct kx_restore *restore, uint64_t *known_out,
                               struct kx_fault *fault)
{
    return archive_restore_with(restore, NULL, known_out, fault);
}
