/* Both ways go through one loop, with a step that either compresses or
 * expands. */
#include "backup/zstd_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"

enum { LEVEL = 3, CHUNK = 1 << 17 };

struct passage {
    int in;
    int out;
    ZSTD_CCtx *compress; /* one of both */
    ZSTD_DCtx *expand;
    bool framed; /* the frame of what is expanded has ended */
    uint8_t from[CHUNK];
    uint8_t to[CHUNK];
};

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t done = write(fd, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}

/* What is left to do is told by the library; an error of its is EBADMSG. */
static bool step(struct passage *passage, ZSTD_inBuffer *in, bool last,
                 size_t *left)
{
    ZSTD_outBuffer out = {.dst = passage->to, .size = CHUNK};
    if (passage->compress != NULL)
        *left = ZSTD_compressStream2(passage->compress, &out, in,
                                     last ? ZSTD_e_end : ZSTD_e_continue);
    else
        *left = ZSTD_decompressStream(passage->expand, &out, in);
    if (ZSTD_isError(*left)) {
        errno = EBADMSG;
        return false;
    }
    passage->framed = *left == 0;
    if (passage->expand != NULL)
        *left = out.pos == out.size && !passage->framed;
    return write_all(passage->out, passage->to, out.pos);
}

/* Passes on what was read; `last`: nothing, as the file has ended. */
static bool pass_chunk(struct passage *passage, size_t size, bool last)
{
    bool compress = passage->compress != NULL;
    ZSTD_inBuffer in = {.src = passage->from, .size = size};
    size_t left = last && compress;
    while (in.pos < in.size || left != 0) {
        if (!step(passage, &in, last, &left))
            return false;
        if (compress && !last)
            left = 0;
    }
    return true;
}

static bool run(struct passage *passage)
{
    ssize_t size;
    do {
        size = read(passage->in, passage->from, CHUNK);
        if (size < 0 || !pass_chunk(passage, (size_t)size, size == 0))
            return false;
    } while (size > 0);
    errno = EBADMSG;
    return passage->compress != NULL || passage->framed;
}

static bool pass(struct passage *passage, const char *from, const char *to)
{
    char part[4096];
    snprintf(part, sizeof part, "%s.part", to);
    passage->in = open(from, O_RDONLY | O_CLOEXEC);
    if (passage->in < 0)
        return false;
    passage->out = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool done =
        passage->out >= 0 && run(passage) && fdatasync(passage->out) == 0;
    int error = errno;
    close(passage->in);
    if (passage->out >= 0)
        close(passage->out);
    errno = error;
    return done && rename(part, to) == 0 && file_sync(to);
}

/* With one of both, or none: then memory ran out. */
static enum kx_status pass_with(ZSTD_CCtx *compress, ZSTD_DCtx *expand,
                                const char *from, const char *to,
                                struct kx_fault *fault)
{
    struct passage *passage = calloc(1, sizeof *passage);
    if (passage == NULL || (compress == NULL && expand == NULL)) {
        free(passage);
        return KX_NO_MEMORY;
    }
    passage->compress = compress;
    passage->expand = expand;
    bool whole = pass(passage, from, to);
    bool bad = errno == EBADMSG;
    enum kx_status status = whole ? KX_OK : file_failed(from, fault);
    if (!whole && bad)
        status = kx_fail(fault, KX_BAD_ARCHIVE, "%s is damaged", from);
    free(passage);
    return status;
}

enum kx_status zstd_file_compress(const char *from, const char *to,
                                  struct kx_fault *fault)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    if (zstd != NULL) {
        ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    }
    enum kx_status status = pass_with(zstd, NULL, from, to, fault);
    ZSTD_freeCCtx(zstd);
    return status;
}

enum kx_status zstd_file_expand(const char *from, const char *to,
                                struct kx_fault *fault)
{
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    enum kx_status status = pass_with(NULL, zstd, from, to, fault);
    ZSTD_freeDCtx(zstd);
    return status;
}
