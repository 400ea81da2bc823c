/* Writes the archive: bytes go through the digest of their member and through
 * the compressor. */
#include "backup/backup_pack.h"

#include <stdio.h>
#include <talloc.h>
#include <zstd.h>

#include "base/sha256.h"
#include "backup/tar.h"

/* For pages, level 1 is nearly as small as the default and takes half the time.
 */
enum { LEVEL = 1, END_BLOCKS = 2 };

struct backup_pack {
    ZSTD_CCtx *zstd;
    struct kx_buffer *out;
    struct sha256 digest;
    struct tar_member member;
    uint64_t left; /* bytes of the member still to be added */
    bool open;
    struct kx_buffer sums;
};

static int finish(struct backup_pack *pack)
{
    ZSTD_freeCCtx(pack->zstd);
    return 0;
}

struct backup_pack *backup_pack_create(void *mem)
{
    struct backup_pack *pack = talloc_zero(mem, struct backup_pack);
    if (pack == NULL)
        return NULL;
    pack->zstd = ZSTD_createCCtx();
    talloc_set_destructor(pack, finish);
    kx_buffer_init(&pack->sums, pack);
    if (pack->zstd != NULL &&
        !ZSTD_isError(ZSTD_CCtx_setParameter(pack->zstd,
                                             ZSTD_c_compressionLevel, LEVEL)) &&
        !ZSTD_isError(
            ZSTD_CCtx_setParameter(pack->zstd, ZSTD_c_checksumFlag, 1)))
        return pack;
    talloc_free(pack);
    return NULL;
}

void backup_pack_target(struct backup_pack *pack, struct kx_buffer *out)
{
    pack->out = out;
}

/* Compresses bytes; at the end also flushes the compressor. */
static void compress(struct backup_pack *pack, struct kx_slice bytes,
                     ZSTD_EndDirective mode)
{
    ZSTD_inBuffer in = {.src = bytes.data, .size = bytes.size};
    struct kx_buffer *out = pack->out;
    size_t left = 1;
    while (!out->failed && (in.pos < in.size || (mode != 0 && left != 0))) {
        if (!kx_buffer_reserve(out, ZSTD_CStreamOutSize()))
            return;
        ZSTD_outBuffer room = {.dst = out->data + out->size,
                               .size = out->capacity - out->size};
        left = ZSTD_compressStream2(pack->zstd, &room, &in, mode);
        out->size += room.pos;
        out->failed = ZSTD_isError(left);
    }
}

static void add_zeros(struct backup_pack *pack, size_t size)
{
    static const uint8_t zeros[TAR_BLOCK];
    compress(pack, kx_slice(zeros, size), ZSTD_e_continue);
}

static void end_member(struct backup_pack *pack)
{
    char digits[SHA256_TEXT];
    if (!pack->open)
        return;
    pack->open = false;
    pack->out->failed |= pack->left != 0;
    sha256_end(&pack->digest, digits);
    kx_add_text(&pack->sums, digits);
    kx_add_text(&pack->sums, "  ");
    kx_add_text(&pack->sums, pack->member.name);
    kx_add_byte(&pack->sums, '\n');
    add_zeros(pack, tar_padding(pack->member.size));
}

void backup_pack_member(struct backup_pack *pack, const char *name,
                        uint64_t size)
{
    uint8_t block[TAR_BLOCK];
    end_member(pack);
    snprintf(pack->member.name, sizeof pack->member.name, "%s", name);
    pack->member.size = size;
    pack->left = size;
    pack->open = true;
    sha256_begin(&pack->digest);
    tar_write(&pack->member, kx_now_ms(), block);
    compress(pack, kx_slice(block, sizeof block), ZSTD_e_continue);
}

void backup_pack_add(struct backup_pack *pack, struct kx_slice bytes)
{
    pack->out->failed |= bytes.size > pack->left;
    pack->left -= bytes.size;
    sha256_add(&pack->digest, bytes);
    compress(pack, bytes, ZSTD_e_continue);
}

void backup_pack_finish(struct backup_pack *pack)
{
    end_member(pack);
    pack->out->failed |= pack->sums.failed;
    backup_pack_member(pack, "SHA256SUMS", pack->sums.size);
    backup_pack_add(pack, kx_buffer_slice(&pack->sums));
    add_zeros(pack, tar_padding(pack->member.size));
    for (int i = 0; i < END_BLOCKS; i++)
        add_zeros(pack, TAR_BLOCK);
    compress(pack, kx_slice(NULL, 0), ZSTD_e_end);
}
