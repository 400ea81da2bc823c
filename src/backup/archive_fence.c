/* A reply that was lost leaves a number of which its process does not know that
 * it has it: the object says so. Numbers are found by listing, so only the last
 * ones are kept, besides the first of each process. A list may be older than
 * the pieces that it lacks, and a number in such a gap could be created: a
 * first piece counts only if a later list has no higher number. */
#include "backup/archive_fence.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backup/archive_timeline.h"
#include "backup/object_dir.h"
#include "kindex/backup.h"
#include "kindex/object_store.h"

enum {
    PIECES_KEPT = 64, /* of a process, besides its first */
    FIRST_TRIES = 50, /* the server may take a number each second */
    PIECE_TEXT = 256
};

/* ---- Objects ------------------------------------------------------------ */

static void path_of(const struct archive_fence *fence, uint64_t number,
                    char *out)
{
    snprintf(out, ARCHIVE_PATH, "%.*s/%020" PRIu64, ARCHIVE_PATH - 32,
             fence->directory, number);
}

static int print_piece(const struct archive_piece *piece, char *out)
{
    return snprintf(out, PIECE_TEXT,
                    "%" PRIu64 " %s %s %" PRIu32 " %" PRIu32 " %" PRIu64 "\n",
                    piece->number, piece->timeline, piece->process,
                    piece->end.file, piece->end.offset, piece->lease_ms);
}

static bool read_piece(const char *text, struct archive_piece *piece_out)
{
    return sscanf(text,
                  "%20" SCNu64 " %36s %36s %10" SCNu32 " %10" SCNu32
                  " %20" SCNu64,
                  &piece_out->number, piece_out->timeline, piece_out->process,
                  &piece_out->end.file, &piece_out->end.offset,
                  &piece_out->lease_ms) == 6;
}

struct piece_text {
    char text[PIECE_TEXT];
    size_t size;
};

static bool add_bytes(void *target, struct kx_slice bytes)
{
    struct piece_text *text = target;
    if (bytes.size >= sizeof text->text - text->size)
        return false;
    memcpy(text->text + text->size, bytes.data, bytes.size);
    text->size += bytes.size;
    return true;
}

static enum kx_status get_piece(const struct archive_fence *fence,
                                uint64_t number,
                                struct archive_piece *piece_out,
                                struct kx_fault *fault)
{
    char path[ARCHIVE_PATH];
    struct piece_text text = {.size = 0};
    path_of(fence, number, path);
    enum kx_status status = fence->objects->get(fence->objects->self, path,
                                                add_bytes, &text, fault);
    if (status != KX_OK && status != KX_FAILED)
        return status;
    text.text[text.size] = '\0';
    return status == KX_OK && read_piece(text.text, piece_out) &&
                   piece_out->number == number
               ? KX_OK
               : kx_fail(fault, KX_BAD_ARCHIVE, "%s is damaged", path);
}

static bool find_last(void *target, const struct kx_object *object)
{
    uint64_t *last = target;
    uint64_t number;
    int size = 0;
    if (sscanf(object->name, "%20" SCNu64 "%n", &number, &size) == 1 &&
        size == 20 && object->name[size] == '\0' && number > *last)
        *last = number;
    return true;
}

/* *last_out is 0 if there are no pieces. */
static enum kx_status list_last(const struct archive_fence *fence,
                                uint64_t *last_out, struct kx_fault *fault)
{
    *last_out = 0;
    enum kx_status status = fence->objects->list(
        fence->objects->self, fence->directory, find_last, last_out, fault);
    return status == KX_ABSENT ? KX_OK : status;
}

enum kx_status archive_fence_last(const struct archive_fence *fence,
                                  struct archive_piece *last_out,
                                  struct kx_fault *fault)
{
    uint64_t number;
    enum kx_status status = KX_ABSENT;
    /* Many pieces may come between the list and the read. */
    for (int i = 0; status == KX_ABSENT && i < FIRST_TRIES; i++) {
        status = list_last(fence, &number, fault);
        if (status != KX_OK || number == 0)
            return status == KX_OK ? KX_ABSENT : status;
        status = get_piece(fence, number, last_out, fault);
    }
    return status == KX_ABSENT
               ? kx_fail(fault, KX_BAD_ARCHIVE,
                         "%s: pieces disappear while they are read",
                         fence->directory)
               : status;
}

/* ---- Taking a number ----------------------------------------------------- */

/* KX_CHECK_FAILED: another process has the number, *other_out. */
static enum kx_status create(const struct archive_fence *fence,
                             const struct archive_piece *piece,
                             struct archive_piece *other_out,
                             struct kx_fault *fault)
{
    char path[ARCHIVE_PATH], text[PIECE_TEXT];
    struct kx_slice bytes = kx_slice(text, (size_t)print_piece(piece, text));
    path_of(fence, piece->number, path);
    enum kx_status status =
        fence->objects->create(fence->objects->self, path, bytes, fault);
    if (status != KX_CHECK_FAILED)
        return status;
    status = get_piece(fence, piece->number, other_out, fault);
    if (status == KX_ABSENT) /* another process took it, and many after it */
        *other_out = (struct archive_piece){.number = piece->number};
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    return strcmp(other_out->process, piece->process) == 0 ? KX_OK
                                                           : KX_CHECK_FAILED;
}

static enum kx_status fenced(const struct archive_fence *fence,
                             const struct archive_piece *other,
                             struct kx_fault *fault)
{
    return kx_fail(fault, KX_IN_USE,
                   "piece %" PRIu64 " of %s belongs to %s: another server was "
                   "promoted, or archives there, and this one must stop",
                   other->number, fence->directory,
                   other->timeline[0] != '\0' ? other->timeline
                                              : "another process");
}

static void taken(struct archive_fence *fence,
                  const struct archive_piece *piece)
{
    char path[ARCHIVE_PATH];
    struct kx_fault ignored;
    if (fence->first == 0)
        fence->first = piece->number;
    fence->piece = *piece;
    if (piece->number <= fence->first + PIECES_KEPT)
        return;
    path_of(fence, piece->number - PIECES_KEPT, path);
    (void)fence->objects->remove(fence->objects->self, path, &ignored);
}

static bool may_continue(const struct archive_piece *last, const char *timeline,
                         const char *from)
{
    return strcmp(last->timeline, timeline) == 0 ||
           (from != NULL && strcmp(last->timeline, from) == 0);
}

/* The fence is unchanged unless the number is the last one for certain. */
static enum kx_status try_first(struct archive_fence *fence,
                                struct archive_piece *piece, const char *from,
                                struct kx_fault *fault)
{
    struct archive_piece last = {.number = 0};
    struct archive_piece other;
    uint64_t highest;
    enum kx_status status = archive_fence_last(fence, &last, fault);
    if (status == KX_OK && !may_continue(&last, piece->timeline, from))
        return fenced(fence, &last, fault);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    piece->number = last.number + 1;
    if (fence->piece.lease_ms == 0)
        piece->lease_ms = last.lease_ms;
    status = create(fence, piece, &other, fault);
    if (status == KX_OK)
        status = list_last(fence, &highest, fault);
    if (status == KX_OK && highest != piece->number)
        return KX_CHECK_FAILED;
    fence->before = last;
    return status;
}

/* A server that runs may take a number at any time: the next one is tried. */
static enum kx_status take_first(struct archive_fence *fence,
                                 struct archive_piece *piece, const char *from,
                                 struct kx_fault *fault)
{
    enum kx_status status = KX_CHECK_FAILED;
    for (int i = 0; status == KX_CHECK_FAILED && i < FIRST_TRIES; i++)
        status = try_first(fence, piece, from, fault);
    return status == KX_CHECK_FAILED
               ? kx_fail(fault, KX_UNREACHABLE,
                         "%s: each next number was taken by another process",
                         fence->directory)
               : status;
}

enum kx_status archive_fence_take(struct archive_fence *fence,
                                  struct log_place end, const char *from,
                                  struct kx_fault *fault)
{
    struct archive_piece piece = fence->piece;
    struct archive_piece other;
    enum kx_status status;
    piece.end = end;
    if (fence->first == 0) {
        status =
            fence->objects->make(fence->objects->self, fence->directory, fault);
        if (status == KX_OK)
            status = take_first(fence, &piece, from, fault);
    } else {
        piece.number = fence->piece.number + 1;
        status = create(fence, &piece, &other, fault);
        if (status == KX_CHECK_FAILED)
            status = fenced(fence, &other, fault);
    }
    if (status == KX_OK)
        taken(fence, &piece);
    return status;
}

size_t kx_archive_size(const char *path)
{
    static const char FORM[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    const char *slash = strrchr(path, '/');
    if (slash == NULL || strlen(slash + 1) != sizeof FORM - 1)
        return strlen(path);
    for (size_t i = 0; i < sizeof FORM - 1; i++) {
        bool digit = strchr("0123456789abcdef", slash[1 + i]) != NULL;
        if (FORM[i] == '-' ? slash[1 + i] != '-' : !digit)
            return strlen(path);
    }
    return (size_t)(slash - path);
}

enum kx_status archive_fence_init(struct archive_fence *fence,
                                  const struct kx_options *options,
                                  const char *archive, uint64_t lease_ms,
                                  struct kx_fault *fault)
{
    *fence =
        (struct archive_fence){.objects = object_store_of(options->objects),
                               .piece.lease_ms = lease_ms};
    snprintf(fence->directory, sizeof fence->directory, "%.*s/%s",
             (int)kx_archive_size(archive), archive, ARCHIVE_PIECES);
    uuid_make(fence->piece.process);
    return archive_timeline_name(options->directory, fence->piece.timeline,
                                 fault);
}
