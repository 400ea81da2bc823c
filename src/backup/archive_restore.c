/* Restores a base, then its log files one after another, and cuts the log after
 * a mark (log_files.h). */
#include "backup/archive_restore.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kindex/clock.h"
#include "storage/log_end.h"
#include "storage/log_files.h"
#include "base/file.h"
#include "backup/archive_fence.h"
#include "backup/object_dir.h"
#include "backup/restore_files.h"
#include "backup/zstd_file.h"

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* ---- The base ----------------------------------------------------------- */

struct choice {
    const struct kx_restore *restore;
    const struct kx_object_store *objects;
    struct archive_base best;
    bool found;
    int64_t oldest_ms;        /* time of the oldest base of its timeline */
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

static bool note_time(void *target, const struct kx_object *object)
{
    int64_t *newest_ms = target;
    if (object->at_ms > *newest_ms)
        *newest_ms = object->at_ms;
    return true;
}

/* A timeline that ended before the chosen one began was continued by the chosen
 * one, or abandoned. A timeline that continued belongs to another store. */
static void find_other(void *target, const struct archive_base *base)
{
    struct choice *choice = target;
    struct choice alone = {.restore = choice->restore};
    const struct kx_object_store *objects = choice->objects;
    struct kx_fault unknown;
    int64_t newest_ms = 0;
    consider(&alone, base);
    if (!alone.found || strcmp(base->timeline, choice->best.timeline) == 0)
        return;
    if (objects->list(objects->self, base->timeline, note_time, &newest_ms,
                      &unknown) != KX_OK ||
        newest_ms >= choice->oldest_ms)
        snprintf(choice->other, sizeof choice->other, "%s", base->timeline);
}

/* Chooses the last base of the timeline whose server took the last piece.
 * KX_ABSENT: the archive has no pieces. */
static enum kx_status choose_last_server(struct choice *choice,
                                         struct kx_fault *fault)
{
    const char *archive = choice->restore->source;
    struct archive_fence fence = {.objects = choice->objects};
    struct archive_piece last;
    char timeline[ARCHIVE_PATH];
    snprintf(fence.directory, sizeof fence.directory, "%s/%s", archive,
             ARCHIVE_PIECES);
    enum kx_status status = archive_fence_last(&fence, &last, fault);
    if (status != KX_OK)
        return status;
    snprintf(timeline, sizeof timeline, "%s/%s", archive, last.timeline);
    return archive_bases(choice->objects, timeline, consider, choice, fault);
}

/* Chooses the last base of the timeline that has the latest one. */
static enum kx_status choose_timeline(struct choice *choice,
                                      struct kx_fault *fault)
{
    const char *archive = choice->restore->source;
    const struct kx_object_store *objects = choice->objects;
    enum kx_status status =
        archive_all_bases(objects, archive, consider, choice, fault);
    if (status != KX_OK || !choice->found)
        return status;
    const char *timeline = choice->best.timeline;
    status = archive_bases(objects, timeline, consider, choice, fault);
    if (status == KX_OK)
        status = archive_bases(objects, timeline, note_oldest, choice, fault);
    if (status == KX_OK)
        status = archive_all_bases(objects, archive, find_other, choice, fault);
    if (status != KX_OK || choice->other[0] == '\0')
        return status;
    return kx_fail(fault, KX_BAD_ARCHIVE,
                   "%s has more than one continuation of the store: restore "
                   "from the directory of one of them, such as %s or %s",
                   archive, choice->best.timeline, choice->other);
}

/* The source may be the directory of one timeline. */
static enum kx_status choose(struct choice *choice, struct kx_fault *fault)
{
    const char *archive = choice->restore->source;
    enum kx_status status =
        archive_bases(choice->objects, archive, consider, choice, fault);
    bool all = choice->restore->to_stamp == 0 && choice->restore->to_ms == 0;
    if (status == KX_OK && !choice->found) {
        status = all ? choose_last_server(choice, fault) : KX_ABSENT;
        if (status == KX_ABSENT)
            status = choose_timeline(choice, fault);
    }
    if (status == KX_ABSENT)
        return kx_fail(fault, KX_BAD_ARCHIVE, "%s: there is no archive",
                       archive);
    if (status != KX_OK || choice->found)
        return status;
    return kx_fail(fault, KX_BAD_ARCHIVE,
                   all ? "%s has no complete backup"
                       : "%s has no backup from before the point to restore to",
                   archive);
}

static void find_any(void *target, const struct archive_base *base)
{
    (void)base;
    *(bool *)target = true;
}

enum kx_status archive_has_base(const struct kx_object_store *objects,
                                const char *timeline, struct kx_fault *fault)
{
    bool found = false;
    enum kx_status status =
        archive_bases(objects, timeline, find_any, &found, fault);
    return status == KX_OK && !found ? KX_ABSENT : status;
}

/* ---- The log ------------------------------------------------------------ */

/* Returns whether the status shows if the object exists; absence is not a
 * failure. */
static bool may_be_absent(enum kx_status status)
{
    return status == KX_OK || status == KX_ABSENT;
}

/* Writes `from` over the beginning of `to`. KX_ABSENT: `from` is missing, or
 * shorter than `size` bytes, the size of `to`. */
static enum kx_status write_over_shorter(const char *from, const char *to,
                                         uint64_t size, struct kx_fault *fault)
{
    uint64_t has;
    enum kx_status status = file_measure(from, &has, fault);
    if (status != KX_OK)
        return status;
    return has < size ? KX_ABSENT : restore_files_write_over(from, to, fault);
}

/* Writes the archive's part of log file n over a shorter one. */
static enum kx_status fetch_tail(const struct choice *choice, uint32_t n,
                                 const char *to, uint64_t size,
                                 struct kx_fault *fault)
{
    const struct kx_object_store *objects = choice->objects;
    char path[ARCHIVE_PATH], copy[ARCHIVE_PATH];
    const char *file;
    archive_tail_path(choice->best.timeline, n, path);
    snprintf(copy, sizeof copy, "%s/archive.part", choice->restore->directory);
    enum kx_status status = object_fetch(objects, path, copy, &file, fault);
    if (status != KX_OK)
        return status;
    status = write_over_shorter(file, to, size, fault);
    object_fetched(objects, copy);
    return status;
}

/* Expands a complete log file of the archive. */
static enum kx_status expand(const struct choice *choice, const char *from,
                             const char *to, struct kx_fault *fault)
{
    const struct kx_object_store *objects = choice->objects;
    char copy[ARCHIVE_PATH];
    const char *file;
    snprintf(copy, sizeof copy, "%s/archive.part", choice->restore->directory);
    enum kx_status status = object_fetch(objects, from, copy, &file, fault);
    if (status != KX_OK)
        return status;
    status = zstd_file_expand(file, to, fault);
    if (status == KX_BAD_ARCHIVE)
        kx_fail(fault, status, "%s is damaged", from);
    object_fetched(objects, copy);
    return status;
}

/* KX_ABSENT: the archive does not have the complete log file n. */
static enum kx_status fetch_complete(const struct choice *choice, uint32_t n,
                                     const char *to, struct kx_fault *fault)
{
    const struct kx_object_store *objects = choice->objects;
    char from[ARCHIVE_PATH];
    uint64_t size;
    archive_log_path(choice->best.timeline, n, from);
    enum kx_status status = objects->size(objects->self, from, &size, fault);
    return status == KX_OK ? expand(choice, from, to, fault) : status;
}

/* Writes what the damaged directory and the archive have of log file n over the
 * part in the base, which ends earlier. The archive's part comes last, because
 * the directory's may be damaged. A server that archives meanwhile may have
 * replaced the part by the complete file. KX_ABSENT: neither has a part. */
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
    if (may_be_absent(status))
        status = fetch_tail(choice, n, to, size, fault);
    if (status == KX_ABSENT)
        status = fetch_complete(choice, n, to, fault);
    return status == KX_ABSENT && there ? KX_OK : status;
}

/* Copies log file n into the directory, from the source with the longest part
 * of the file. KX_ABSENT: no source has the file. */
static enum kx_status fetch(const struct choice *choice, uint32_t n,
                            const char *rest, struct kx_fault *fault)
{
    char name[LOG_NAME], to[ARCHIVE_PATH];
    log_files_name(n, name);
    snprintf(to, sizeof to, "%s/%s", choice->restore->directory, name);
    enum kx_status status = fetch_complete(choice, n, to, fault);
    return status == KX_ABSENT ? fetch_parts(choice, n, rest, to, fault)
                               : status;
}

/* The log files, and parts of them, that the sources name from file `first` on.
 */
struct listed {
    uint32_t first;
    uint32_t last;  /* the highest number, in the archive or in `rest` */
    uint64_t count; /* objects, and files of `rest` */
};

static bool note_log(void *target, const struct kx_object *object)
{
    struct listed *listed = target;
    uint32_t number = archive_log_number(object->name);
    listed->count += number >= listed->first;
    if (number > listed->last)
        listed->last = number;
    return true;
}

static enum kx_status list_logs(const struct choice *choice, const char *rest,
                                struct listed *listed, struct kx_fault *fault)
{
    const struct kx_object_store *objects = choice->objects;
    uint32_t first, last = 0;
    enum kx_status status = objects->list(objects->self, choice->best.timeline,
                                          note_log, listed, fault);
    if (status != KX_OK)
        return status;
    if (rest != NULL && !log_files_span(rest, &first, &last))
        return file_failed(rest, fault);
    if (last >= listed->first)
        listed->count += last - listed->first + 1;
    if (last > listed->last)
        listed->last = last;
    return KX_OK;
}

/* Log files that are complete in the base are kept. After one that is missing,
 * or damaged in the archive, no further file is usable: missing_out describes
 * it. At most as many files are made as were listed. */
static enum kx_status fetch_all(const struct choice *choice, const char *rest,
                                char *missing_out, struct kx_fault *fault)
{
    uint32_t first, n;
    struct listed listed = {.last = 0};
    if (!log_files_span(choice->restore->directory, &first, &n))
        return file_failed(choice->restore->directory, fault);
    listed.first = n;
    enum kx_status status = list_logs(choice, rest, &listed, fault);
    for (; status == KX_OK && n <= listed.last && listed.count > 0; n++) {
        status = fetch(choice, n, rest, fault);
        listed.count--;
        if (status != KX_OK)
            break;
    }
    if (status == KX_ABSENT && n < listed.last)
        snprintf(missing_out, KX_DETAIL_MAX, "log file %u is missing in %s", n,
                 choice->restore->source);
    if (status == KX_BAD_ARCHIVE)
        snprintf(missing_out, KX_DETAIL_MAX, "%s", fault->detail);
    return status == KX_ABSENT || status == KX_BAD_ARCHIVE ? KX_OK : status;
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

/* ---- Where the log ends -------------------------------------------------- */

struct archive_cut {
    const struct kx_restore *restore;
    struct log_place base_end;
    uint64_t base_stamp;
    char missing[KX_DETAIL_MAX]; /* what the log lacks; "": nothing */
    struct log_mark last;        /* the last mark up to the point */
    uint64_t known;              /* highest versionstamp in the log */
    bool beyond;                 /* there are marks after the point */
};

static bool take_mark(void *target, const struct log_mark *mark)
{
    struct archive_cut *cut = target;
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

/* Removes a log file, or the part of it after the place. */
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

/* Checks that the log reaches the wanted point. */
static enum kx_status check_end(const struct archive_cut *cut,
                                struct kx_fault *fault)
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

/* If the log continues after its readable part, cuts it there, provided that
 * the wanted point is earlier. */
static enum kx_status check_rest(const struct archive_cut *cut,
                                 struct kx_fault *fault)
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

/* Checks that the log in restore->directory reaches the wanted point, and cuts
 * it there. Sets restore->at_ms. KX_OK; KX_BAD_ARCHIVE, with a fault that says
 * what can be restored; KX_DAMAGED, KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED. The
 * log in the base stays: the base's pages may have all of its changes. */
static enum kx_status cut_at_point(struct kx_restore *restore,
                                   struct archive_cut *cut,
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

/* ---- The whole ---------------------------------------------------------- */

/* If the base is damaged, the fault says how to restore an older one. */
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
    struct choice choice = {.restore = restore,
                            .objects = object_store_of(restore->objects)};
    struct archive_cut cut = {.restore = restore};
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
    snprintf(restore->timeline, sizeof restore->timeline, "%.*s",
             KX_TIMELINE - 1, last_name(choice.best.timeline));
    *known_out = cut.known;
    return status;
}

enum kx_status archive_restore(struct kx_restore *restore, uint64_t *known_out,
                               struct kx_fault *fault)
{
    return archive_restore_with(restore, NULL, known_out, fault);
}
