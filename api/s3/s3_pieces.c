/* The first piece begins at byte 0. Writing it again, longer, makes the other
 * pieces superfluous; until they are removed, their bytes equal those of the
 * first piece. */
#include "s3/s3_pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char GROWS[] = KX_OBJECT_GROWS;
enum { GROWS_SIZE = sizeof GROWS - 1, DIGITS = 10 };

bool s3_grows(const char *name)
{
    size_t size = strlen(name);
    return size > GROWS_SIZE && strcmp(name + size - GROWS_SIZE, GROWS) == 0;
}

/* Reads the position of a piece from the end of its name, ".0000000000". False
 * if the name is not that of a piece. */
static bool piece_start(const char *name, uint64_t *start_out)
{
    char again[DIGITS + 2];
    size_t size = strlen(name);
    if (size <= GROWS_SIZE + DIGITS + 1 ||
        strncmp(name + size - DIGITS - 1 - GROWS_SIZE, GROWS, GROWS_SIZE) !=
            0 ||
        sscanf(name + size - DIGITS - 1, ".%10" SCNu64, start_out) != 1)
        return false;
    snprintf(again, sizeof again, ".%010" PRIu64, *start_out);
    return strcmp(again, name + size - DIGITS - 1) == 0;
}

/* In the list, the pieces of an object are consecutive and sorted by position.
 */
void s3_pieces_join(struct s3_list *list)
{
    size_t count = 0;
    uint64_t start;
    for (size_t i = 0; i < list->count; i++) {
        struct s3_listed object = list->objects[i];
        struct s3_listed *last = count > 0 ? &list->objects[count - 1] : NULL;
        if (!piece_start(object.name, &start)) {
            list->objects[count++] = object;
            continue;
        }
        object.name[strlen(object.name) - DIGITS - 1] = '\0';
        if (last == NULL || strcmp(last->name, object.name) != 0) {
            if (start != 0)
                object.size = 0;
            list->objects[count++] = object;
            continue;
        }
        if (start <= last->size && start + object.size > last->size)
            last->size = start + object.size;
        if (object.at_ms > last->at_ms)
            last->at_ms = object.at_ms;
    }
    list->count = count;
}

static void piece_key(const char *key, uint64_t start, char *out)
{
    snprintf(out, S3_KEY_MAX, "%s.%010" PRIu64, key, start);
}

static enum kx_status delete_key(struct s3 *s3, const char *key,
                                 struct kx_fault *fault)
{
    struct s3_request request = {.method = "DELETE", .key = key, .fd = -1};
    enum kx_status status = s3_send(s3, &request, fault);
    s3_request_end(&request);
    return status == KX_ABSENT ? KX_OK : status;
}

/* Lists the pieces of the object, whose names begin with its key. */
static enum kx_status list_pieces(struct s3 *s3, const char *key,
                                  struct s3_list *list, struct kx_fault *fault)
{
    char prefix[S3_KEY_MAX];
    snprintf(prefix, sizeof prefix, "%s.", key);
    return s3_list_keys(s3, prefix, list, fault);
}

static enum kx_status remove_from(struct s3 *s3, const char *key,
                                  uint64_t first, struct kx_fault *fault)
{
    struct s3_list list;
    char piece[S3_KEY_MAX + S3_NAME_MAX + 1];
    enum kx_status status = list_pieces(s3, key, &list, fault);
    for (size_t i = 0; status == KX_OK && i < list.count; i++) {
        snprintf(piece, sizeof piece, "%s.%s", key, list.objects[i].name);
        uint64_t start;
        if (piece_start(piece, &start) && start >= first)
            status = delete_key(s3, piece, fault);
    }
    s3_list_end(&list);
    return status;
}

enum kx_status s3_pieces_remove(struct s3 *s3, const char *key,
                                struct kx_fault *fault)
{
    if (strcmp(s3->growing, key) == 0)
        s3->growing[0] = '\0';
    return remove_from(s3, key, 0, fault);
}

/* Removes superfluous pieces. A piece that cannot be removed does no harm,
 * because its bytes are the same. */
static void forget_others(struct s3 *s3, const char *key)
{
    struct kx_fault unknown;
    (void)remove_from(s3, key, 1, &unknown);
}

/* True if the next piece must begin at 0: the first piece that this process
 * writes does. */
static bool begins_again(const struct s3 *s3, const char *key)
{
    return strcmp(s3->growing, key) != 0 || s3->pieces >= S3_PIECES_MAX;
}

enum kx_status s3_pieces_grow(struct s3 *s3, const char *file, const char *key,
                              const uint64_t range[2], struct kx_fault *fault)
{
    char piece[S3_KEY_MAX];
    bool whole = begins_again(s3, key);
    struct s3_request request = {.method = "PUT", .key = piece};
    request.range[0] = whole ? 0 : range[0];
    request.range[1] = range[1];
    piece_key(key, request.range[0], piece);
    request.fd = open(file, O_RDONLY | O_CLOEXEC);
    if (request.fd < 0)
        return kx_fail(fault, KX_FAILED, "%s: %s", file, strerror(errno));
    enum kx_status status = s3_send(s3, &request, fault);
    s3_request_end(&request);
    close(request.fd);
    if (status != KX_OK)
        return status;
    s3->pieces = whole ? 1 : s3->pieces + 1;
    snprintf(s3->growing, sizeof s3->growing, "%s", key);
    if (whole)
        forget_others(s3, key);
    return KX_OK;
}

/* The progress of reading an object. A piece may have grown since it was
 * listed, so the bytes received are counted. */
struct pieces_read {
    struct s3 *s3;
    const char *key;
    kx_object_bytes_fn *bytes;
    void *target;
    uint64_t done; /* bytes of the object */
    uint64_t skip; /* bytes of the piece that earlier pieces already had */
};

static bool take_new(void *context, struct kx_slice bytes)
{
    struct pieces_read *read = context;
    size_t skip = read->skip < bytes.size ? (size_t)read->skip : bytes.size;
    bytes = kx_slice(bytes.data + skip, bytes.size - skip);
    read->skip -= skip;
    read->done += bytes.size;
    return bytes.size == 0 || read->bytes(read->target, bytes);
}

static enum kx_status get_piece(struct pieces_read *read, const char *name,
                                uint64_t start, struct kx_fault *fault)
{
    struct s3_request request = {.method = "GET",
                                 .key = name,
                                 .fd = -1,
                                 .bytes = take_new,
                                 .target = read};
    read->skip = read->done - start;
    enum kx_status status = s3_send(read->s3, &request, fault);
    s3_request_end(&request);
    return status;
}

static enum kx_status get_listed(struct pieces_read *read,
                                 const struct s3_list *list,
                                 struct kx_fault *fault)
{
    char name[S3_KEY_MAX + S3_NAME_MAX + 1];
    uint64_t start;
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < list->count; i++) {
        const struct s3_listed *object = &list->objects[i];
        snprintf(name, sizeof name, "%s.%s", read->key, object->name);
        if (!piece_start(name, &start) || start + object->size <= read->done)
            continue;
        if (start > read->done)
            return kx_fail(fault, KX_BAD_ARCHIVE,
                           "s3://%s/%s: the piece from byte %" PRIu64
                           " on is missing",
                           read->s3->settings.bucket, read->key, read->done);
        status = get_piece(read, name, start, fault);
    }
    return status;
}

/* If a listed piece has disappeared, a longer first piece has replaced it and
 * has the missing bytes, or the whole object was removed. */
enum kx_status s3_pieces_get(struct s3 *s3, const char *key,
                             kx_object_bytes_fn *bytes, void *target,
                             struct kx_fault *fault)
{
    struct pieces_read read = {
        .s3 = s3, .key = key, .bytes = bytes, .target = target};
    enum kx_status status = KX_ABSENT;
    for (int i = 0; status == KX_ABSENT && i < S3_LISTS_MAX; i++) {
        struct s3_list list;
        bool none = false;
        status = list_pieces(s3, key, &list, fault);
        if (status == KX_OK) {
            none = list.count == 0;
            status = none ? KX_ABSENT : get_listed(&read, &list, fault);
        }
        s3_list_end(&list);
        if (none)
            break;
    }
    return status;
}
