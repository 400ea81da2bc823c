/* Compressing and expanding share one loop, with a different step. */
#include "backup/zstd_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"

enum {
    LEVEL = 3,
    CHUNK = 1 << 17,
    EXPANDED_MAX = 64 << 20 /* a log file has 16 MiB */
};

struct zstd_stream {
    int in;
    int out;
    ZSTD_CCtx *compress; /* either this or expand is set */
    ZSTD_DCtx *expand;
    bool framed; /* the frame has ended */
    size_t expanded;
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

/* Sets *left to 0 if the library needs no further call. On an error of the
 * library, errno is EBADMSG. */
static bool step(struct zstd_stream *stream, ZSTD_inBuffer *in, bool last,
                 size_t *left)
{
    ZSTD_outBuffer out = {.dst = stream->to, .size = CHUNK};
    if (stream->compress != NULL)
        *left = ZSTD_compressStream2(stream->compress, &out, in,
                                     last ? ZSTD_e_end : ZSTD_e_continue);
    else
        *left = ZSTD_decompressStream(stream->expand, &out, in);
    if (ZSTD_isError(*left)) {
        errno = EBADMSG;
        return false;
    }
    stream->framed = *left == 0;
    if (stream->expand != NULL) {
        *left = out.pos == out.size && !stream->framed;
        stream->expanded += out.pos;
    }
    if (stream->expanded > EXPANDED_MAX) {
        errno = EBADMSG;
        return false;
    }
    return write_all(stream->out, stream->to, out.pos);
}

/* Converts a chunk; with `last` the file has ended, and size is 0. */
static bool convert_chunk(struct zstd_stream *stream, size_t size, bool last)
{
    bool compress = stream->compress != NULL;
    ZSTD_inBuffer in = {.src = stream->from, .size = size};
    size_t left = last && compress;
    while (in.pos < in.size || left != 0) {
        if (!step(stream, &in, last, &left))
            return false;
        if (compress && !last)
            left = 0;
    }
    return true;
}

static bool run(struct zstd_stream *stream)
{
    ssize_t size;
    do {
        size = read(stream->in, stream->from, CHUNK);
        if (size < 0 || !convert_chunk(stream, (size_t)size, size == 0))
            return false;
    } while (size > 0);
    errno = EBADMSG;
    return stream->compress != NULL || stream->framed;
}

static bool convert(struct zstd_stream *stream, const char *from,
                    const char *to)
{
    char part[4096];
    snprintf(part, sizeof part, "%s.part", to);
    stream->in = open(from, O_RDONLY | O_CLOEXEC);
    if (stream->in < 0)
        return false;
    stream->out = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool done = stream->out >= 0 && run(stream) && fdatasync(stream->out) == 0;
    int error = errno;
    close(stream->in);
    if (stream->out >= 0)
        close(stream->out);
    errno = error;
    return done && rename(part, to) == 0 && file_sync(to);
}

/* Uses the given context; both are NULL if memory ran out. */
static enum kx_status convert_with(ZSTD_CCtx *compress, ZSTD_DCtx *expand,
                                   const char *from, const char *to,
                                   struct kx_fault *fault)
{
    struct zstd_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL || (compress == NULL && expand == NULL)) {
        free(stream);
        return KX_NO_MEMORY;
    }
    stream->compress = compress;
    stream->expand = expand;
    bool whole = convert(stream, from, to);
    bool bad = errno == EBADMSG;
    enum kx_status status = whole ? KX_OK : file_failed(from, fault);
    if (!whole && bad)
        status = kx_fail(fault, KX_BAD_ARCHIVE, "%s is damaged", from);
    free(stream);
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
    enum kx_status status = convert_with(zstd, NULL, from, to, fault);
    ZSTD_freeCCtx(zstd);
    return status;
}

enum kx_status zstd_file_expand(const char *from, const char *to,
                                struct kx_fault *fault)
{
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    enum kx_status status = convert_with(NULL, zstd, from, to, fault);
    ZSTD_freeDCtx(zstd);
    return status;
}
