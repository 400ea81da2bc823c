/* Computes the digests of the members while reading them; the last member must
 * be the same list. */
#include "backup/backup_unpack.h"

#include <stdio.h>
#include <talloc.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/sha256.h"
#include "backup/tar.h"
#include "bdb/table.h"
#include "storage/log_files.h"

enum { SUMS_MAX = 1 << 20, WINDOW_MAX_LOG = 27 };

enum unpack_state { IN_HEADER, IN_MEMBER, IN_PADDING, AT_END };

struct backup_unpack {
    ZSTD_DCtx *zstd;
    const struct backup_unpack_sink *sink;
    enum unpack_state state;
    uint8_t block[TAR_BLOCK];
    size_t held; /* bytes in block */
    struct tar_member member;
    uint64_t left; /* bytes left of the member or of its padding */
    struct sha256 digest;
    struct kx_buffer sums;   /* computed from the members */
    struct kx_buffer stated; /* SHA256SUMS, as it is read */
    bool in_sums;            /* the member is SHA256SUMS */
    bool framed;             /* the frame is complete */
    uint64_t place;          /* of the member, among those of a backup */
    uint64_t bytes;          /* of the tar archive so far */
    uint8_t out[1 << 17];
};

static int finish(struct backup_unpack *unpack)
{
    ZSTD_freeDCtx(unpack->zstd);
    return 0;
}

struct backup_unpack *
backup_unpack_create(void *mem, const struct backup_unpack_sink *sink)
{
    struct backup_unpack *unpack = talloc_zero(mem, struct backup_unpack);
    if (unpack == NULL)
        return NULL;
    unpack->sink = sink;
    unpack->zstd = ZSTD_createDCtx();
    talloc_set_destructor(unpack, finish);
    kx_buffer_init(&unpack->sums, unpack);
    kx_buffer_init(&unpack->stated, unpack);
    if (unpack->zstd != NULL &&
        !ZSTD_isError(ZSTD_DCtx_setParameter(unpack->zstd, ZSTD_d_windowLogMax,
                                             WINDOW_MAX_LOG)))
        return unpack;
    talloc_free(unpack);
    return NULL;
}

static enum kx_status bad(struct kx_fault *fault, const char *what)
{
    return kx_fail(fault, KX_BAD_ARCHIVE, "%s", what);
}

static bool passes_on(const struct backup_unpack *unpack)
{
    return unpack->sink != NULL && !unpack->in_sums;
}

static enum kx_status end_member(struct backup_unpack *unpack,
                                 struct kx_fault *fault)
{
    char digits[SHA256_TEXT];
    unpack->left = tar_padding(unpack->member.size);
    unpack->state = unpack->left == 0 ? IN_HEADER : IN_PADDING;
    if (passes_on(unpack) && !unpack->sink->close(unpack->sink->target))
        return kx_fail(fault, KX_FAILED, "%s cannot be written",
                       unpack->member.name);
    if (unpack->in_sums)
        return KX_OK;
    sha256_end(&unpack->digest, digits);
    kx_add_text(&unpack->sums, digits);
    kx_add_text(&unpack->sums, "  ");
    kx_add_text(&unpack->sums, unpack->member.name);
    kx_add_byte(&unpack->sums, '\n');
    return unpack->sums.failed ? KX_NO_MEMORY : KX_OK;
}

/* The place of a member among those of a backup, which are in the order of
 * backup.c: the format, the tables, the log. 0: no backup has it. */
static uint64_t place_of(const char *name)
{
    char log[LOG_NAME];
    unsigned number = 0;
    if (strcmp(name, "format") == 0)
        return 1;
    for (int table = 0; table < TABLE_COUNT; table++)
        if (strcmp(name, table_file((enum table)table)) == 0)
            return 2 + (uint64_t)table;
    if (sscanf(name, "log.%10u", &number) != 1)
        return 0;
    log_files_name(number, log);
    return strcmp(name, log) == 0 ? 2 + (uint64_t)TABLE_COUNT + number : 0;
}

/* Refuses unexpected and repeated members, which would also become files of the
 * data directory. */
static enum kx_status check_member(struct backup_unpack *unpack,
                                   struct kx_fault *fault)
{
    const char *name = unpack->member.name;
    uint64_t place = place_of(name);
    if (place == 0)
        return kx_fail(fault, KX_BAD_ARCHIVE,
                       "it has the file %s, which no "
                       "backup has",
                       name);
    if (place <= unpack->place)
        return kx_fail(fault, KX_BAD_ARCHIVE,
                       "its file %s comes twice, or not in its place", name);
    if (unpack->sums.size > SUMS_MAX)
        return bad(fault, "it has too many files");
    unpack->place = place;
    return KX_OK;
}

static enum kx_status begin_member(struct backup_unpack *unpack,
                                   struct kx_fault *fault)
{
    struct tar_member *member = &unpack->member;
    enum kx_status status = tar_read(unpack->block, member);
    unpack->held = 0;
    if (status == KX_END) {
        unpack->state = AT_END;
        return KX_OK;
    }
    if (status != KX_OK)
        return bad(fault, "a member of the archive is not readable");
    if (unpack->in_sums)
        return bad(fault, "data follow its checksums");
    unpack->in_sums = strcmp(member->name, "SHA256SUMS") == 0;
    if (unpack->in_sums && member->size > SUMS_MAX)
        return bad(fault, "its checksums are too long");
    if (!unpack->in_sums && check_member(unpack, fault) != KX_OK)
        return fault->status;
    sha256_begin(&unpack->digest);
    unpack->left = member->size;
    unpack->state = IN_MEMBER;
    if (passes_on(unpack) &&
        !unpack->sink->open(unpack->sink->target, member->name, member->size))
        return kx_fail(fault, KX_FAILED, "%s cannot be written", member->name);
    return unpack->left == 0 ? end_member(unpack, fault) : KX_OK;
}

static enum kx_status add_header(struct backup_unpack *unpack,
                                 struct kx_slice *bytes, struct kx_fault *fault)
{
    size_t size = TAR_BLOCK - unpack->held;
    if (size > bytes->size)
        size = bytes->size;
    memcpy(unpack->block + unpack->held, bytes->data, size);
    unpack->held += size;
    *bytes = kx_slice(bytes->data + size, bytes->size - size);
    return unpack->held < TAR_BLOCK ? KX_OK : begin_member(unpack, fault);
}

static struct kx_slice take(struct backup_unpack *unpack,
                            struct kx_slice *bytes)
{
    size_t size = bytes->size;
    if (size > unpack->left)
        size = (size_t)unpack->left;
    struct kx_slice part = kx_slice(bytes->data, size);
    *bytes = kx_slice(bytes->data + size, bytes->size - size);
    unpack->left -= size;
    return part;
}

static enum kx_status add_member(struct backup_unpack *unpack,
                                 struct kx_slice *bytes, struct kx_fault *fault)
{
    struct kx_slice part = take(unpack, bytes);
    if (unpack->in_sums)
        kx_add_slice(&unpack->stated, part);
    else
        sha256_add(&unpack->digest, part);
    if (unpack->stated.failed)
        return KX_NO_MEMORY;
    if (passes_on(unpack) && !unpack->sink->bytes(unpack->sink->target, part))
        return kx_fail(fault, KX_FAILED, "%s cannot be written",
                       unpack->member.name);
    return unpack->left == 0 ? end_member(unpack, fault) : KX_OK;
}

/* Takes bytes of the tar archive, perhaps not all. */
static enum kx_status add_part(struct backup_unpack *unpack,
                               struct kx_slice *bytes, struct kx_fault *fault)
{
    switch (unpack->state) {
    case IN_HEADER:
        return add_header(unpack, bytes, fault);
    case IN_MEMBER:
        return add_member(unpack, bytes, fault);
    case IN_PADDING:
        take(unpack, bytes);
        if (unpack->left == 0)
            unpack->state = IN_HEADER;
        return KX_OK;
    case AT_END:
        bytes->size = 0;
        return KX_OK;
    }
    return KX_FAILED;
}

static const char *describe_error(size_t error)
{
    return ZSTD_getErrorCode(error) == ZSTD_error_prefix_unknown
               ? "it is not a backup, which is a tar archive compressed with "
                 "zstd"
               : ZSTD_getErrorName(error);
}

enum kx_status backup_unpack_add(struct backup_unpack *unpack,
                                 struct kx_slice bytes, struct kx_fault *fault)
{
    ZSTD_inBuffer in = {.src = bytes.data, .size = bytes.size};
    enum kx_status status = KX_OK;
    bool full = false; /* the library may hold more output */
    while (status == KX_OK && (in.pos < in.size || full)) {
        ZSTD_outBuffer out = {.dst = unpack->out, .size = sizeof unpack->out};
        if (unpack->framed)
            return bad(fault, "data follow its end");
        size_t left = ZSTD_decompressStream(unpack->zstd, &out, &in);
        if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation)
            return kx_fail(fault, KX_NO_MEMORY, "no memory");
        if (ZSTD_isError(left))
            return bad(fault, describe_error(left));
        unpack->framed = left == 0;
        full = out.pos == out.size && !unpack->framed;
        struct kx_slice rest = kx_slice(unpack->out, out.pos);
        unpack->bytes += out.pos;
        while (status == KX_OK && rest.size > 0)
            status = add_part(unpack, &rest, fault);
    }
    return status;
}

/* Returns the bytes of the tar archive so far. */
static uint64_t count_bytes(const struct backup_unpack *unpack)
{
    return unpack->bytes;
}

enum kx_status backup_unpack_end(struct backup_unpack *unpack,
                                 struct kx_fault *fault)
{
    if (!unpack->framed || unpack->state != AT_END || !unpack->in_sums)
        return bad(fault, "it is incomplete: its end is missing");
    if (!kx_equal(kx_buffer_slice(&unpack->sums),
                  kx_buffer_slice(&unpack->stated)))
        return bad(fault, "its contents do not match its checksums");
    return KX_OK;
}

/* ---- Checking only ------------------------------------------------------ */

struct kx_backup_check {
    struct backup_unpack *unpack;
};

struct kx_backup_check *kx_backup_check_begin(void *memory)
{
    struct kx_backup_check *check = talloc_zero(memory, struct kx_backup_check);
    if (check == NULL)
        return NULL;
    check->unpack = backup_unpack_create(check, NULL);
    if (check->unpack != NULL)
        return check;
    talloc_free(check);
    return NULL;
}

enum kx_status kx_backup_check_add(struct kx_backup_check *check,
                                   struct kx_slice bytes,
                                   struct kx_fault *fault)
{
    return backup_unpack_add(check->unpack, bytes, fault);
}

uint64_t kx_backup_check_bytes(const struct kx_backup_check *check)
{
    return count_bytes(check->unpack);
}

enum kx_status kx_backup_check_end(struct kx_backup_check *check,
                                   struct kx_fault *fault)
{
    return backup_unpack_end(check->unpack, fault);
}
