/* Cuts the log of a restored directory after a mark (log_files.h). */
#include "backup/archive_point.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "storage/log_end.h"
#include "storage/log_files.h"
#include "backup/archive_names.h"
#include "base/file.h"

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

/* Keeps the log in the base: the base's pages may have all of its changes. */
enum kx_status archive_cut(struct kx_restore *restore, struct archive_cut *cut,
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
