/* zlib and libzstd allocate in talloc contexts, so their memory counts as the
 * request's and is freed with the request, even if its handler never ends. */
#define ZSTD_STATIC_LINKING_ONLY /* for ZSTD_customMem */
#include "http/coding.h"

#include <stdlib.h>
#include <strings.h>
#include <talloc.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
    GZIP = 16,            /* added to the window bits: gzip, not zlib */
    GZIP_WINDOW_MAX = 15, /* bits; the format's maximum */
    GZIP_WINDOW = 13,     /* bits; with GZIP_MEMORY a coder takes 100 KB */
    GZIP_MEMORY = 7,
    ZSTD_STREAM_WINDOW = 17, /* bits, if the size is unknown */
    ROOM = 16 * 1024         /* bytes by which the output grows at least */
};

/* Levels of zlib and zstd by coder_effort. */
static const int GZIP_LEVELS[] = {1, 9};
static const int ZSTD_LEVELS[] = {1, 9};

/* ---- Headers ------------------------------------------------------------ */

static const struct {
    const char *name;
    enum coding coding;
} NAMES[] = {
    {"identity", CODING_IDENTITY},
    {"gzip", CODING_GZIP},
    {"zstd", CODING_ZSTD},
    {"x-gzip", CODING_GZIP},
};

static enum coding coding_of(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strlen(NAMES[i].name) == size &&
            strncasecmp(name, NAMES[i].name, size) == 0)
            return NAMES[i].coding;
    return CODING_UNKNOWN;
}

enum coding coding_named(const char *content_encoding)
{
    if (content_encoding == NULL || *content_encoding == '\0')
        return CODING_IDENTITY;
    return coding_of(content_encoding, strlen(content_encoding));
}

const char *coding_name(enum coding coding)
{
    return NAMES[coding].name;
}

/* Reads a weight from 0 to 1 in thousandths; 0 if it is malformed. */
static int read_weight(const char *at)
{
    int weight = *at == '1' ? 1000 : 0;
    if (*at != '0' || at[1] != '.')
        return weight;
    at += 2;
    for (int unit = 100; unit > 0 && *at >= '0' && *at <= '9'; unit /= 10)
        weight += (*at++ - '0') * unit;
    return weight;
}

/* Returns the weight of an element of the list, which ends with a comma or NUL;
 * 1000 without one. */
static int weight_of(const char *element)
{
    const char *at = element + strcspn(element, ",;");
    if (*at != ';')
        return 1000;
    at += 1 + strspn(at + 1, " \t");
    return strncasecmp(at, "q=", 2) == 0 ? read_weight(at + 2) : 0;
}

enum { ANY = CODING_UNKNOWN + 1, WEIGHTS };

/* Reads the weights of the codings and of `*`; those that are missing stay. */
static void read_weights(const char *list, int weights[WEIGHTS])
{
    for (; *list != '\0'; list += strcspn(list, ",")) {
        list += strspn(list, " \t,");
        size_t named = strcspn(list, " \t,;");
        if (named == 1 && *list == '*')
            weights[ANY] = weight_of(list);
        else if (named > 0)
            weights[coding_of(list, named)] = weight_of(list);
    }
}

enum coding coding_accepted(const char *accept_encoding)
{
    int weights[WEIGHTS] = {-1, -1, -1, -1, 0};
    if (accept_encoding != NULL)
        read_weights(accept_encoding, weights);
    for (int i = CODING_GZIP; i <= CODING_ZSTD; i++)
        if (weights[i] < 0)
            weights[i] = weights[ANY];
    enum coding best = weights[CODING_ZSTD] >= weights[CODING_GZIP]
                           ? CODING_ZSTD
                           : CODING_GZIP;
    bool wanted =
        weights[best] > 0 && weights[best] >= weights[CODING_IDENTITY];
    return wanted ? best : CODING_IDENTITY;
}

/* ---- Memory ------------------------------------------------------------- */

static void *allocate(void *memory, size_t size)
{
    return talloc_size(memory, size);
}

static void *allocate_items(void *memory, unsigned items, unsigned size)
{
    return talloc_size(memory, (size_t)items * size);
}

static void release(void *memory, void *block)
{
    (void)memory;
    talloc_free(block);
}

static ZSTD_customMem zstd_memory(void *memory)
{
    return (ZSTD_customMem){allocate, release, memory};
}

static void gzip_memory(z_stream *stream, void *memory)
{
    stream->zalloc = allocate_items;
    stream->zfree = release;
    stream->opaque = memory;
}

/* ---- Decompression ------------------------------------------------------ */

/* Makes room for more output, up to max + 1 bytes in all: output in the extra
 * byte shows that max is exceeded. Returns the size of the room in bytes, or 0
 * if memory ran out. */
static size_t make_room(struct kx_buffer *out, size_t start, size_t max)
{
    size_t left = start + max + 1 - out->size;
    size_t room = out->size - start > ROOM ? out->size - start : ROOM;
    if (room > left)
        room = left;
    return kx_buffer_reserve(out, room) ? room : 0;
}

static enum coding_result gzip_result(int status)
{
    if (status == Z_OK || status == Z_STREAM_END)
        return CODING_DONE;
    if (status == Z_BUF_ERROR)
        return CODING_TRUNCATED;
    return status == Z_MEM_ERROR ? CODING_NO_MEMORY : CODING_MALFORMED;
}

/* A gzip file may have several members (RFC 1952 section 2.2). */
static enum coding_result gunzip(z_stream *stream, size_t max,
                                 struct kx_buffer *out)
{
    size_t start = out->size;
    enum coding_result result = CODING_DONE;
    for (int status = Z_OK; result == CODING_DONE;) {
        if (status == Z_STREAM_END && stream->avail_in == 0)
            return CODING_DONE;
        if (status == Z_STREAM_END)
            inflateReset(stream);
        size_t room = make_room(out, start, max);
        if (room == 0)
            return CODING_NO_MEMORY;
        stream->next_out = out->data + out->size;
        stream->avail_out = (unsigned)room;
        status = inflate(stream, Z_NO_FLUSH);
        out->size += room - stream->avail_out;
        if (out->size - start > max)
            return CODING_TOO_LARGE;
        result = gzip_result(status);
    }
    return result;
}

static enum coding_result expand_gzip(struct kx_slice packed, size_t max,
                                      void *memory, struct kx_buffer *out)
{
    z_stream stream = {.next_in = (uint8_t *)packed.data,
                       .avail_in = (unsigned)packed.size};
    gzip_memory(&stream, memory);
    int status = inflateInit2(&stream, GZIP_WINDOW_MAX + GZIP);
    return status == Z_OK ? gunzip(&stream, max, out) : gzip_result(status);
}

static enum coding_result zstd_result(size_t status)
{
    ZSTD_ErrorCode code = ZSTD_getErrorCode(status);
    if (code == ZSTD_error_memory_allocation)
        return CODING_NO_MEMORY;
    if (code == ZSTD_error_frameParameter_windowTooLarge)
        return CODING_WINDOW;
    return code == ZSTD_error_no_error ? CODING_DONE : CODING_MALFORMED;
}

/* ZSTD_decompressStream returns 0 at the end of a frame; the next call begins
 * the next frame. */
static enum coding_result unzstd(ZSTD_DCtx *context, struct kx_slice packed,
                                 size_t max, struct kx_buffer *out)
{
    ZSTD_inBuffer in = {packed.data, packed.size, 0};
    size_t start = out->size;
    bool full = false;
    size_t status = 1;
    while (in.pos < in.size || full) {
        size_t room = make_room(out, start, max);
        if (room == 0)
            return CODING_NO_MEMORY;
        ZSTD_outBuffer piece = {out->data + out->size, room, 0};
        status = ZSTD_decompressStream(context, &piece, &in);
        out->size += piece.pos;
        if (out->size - start > max)
            return CODING_TOO_LARGE;
        if (ZSTD_isError(status))
            return zstd_result(status);
        full = piece.pos == room && status != 0;
    }
    return status == 0 ? CODING_DONE : CODING_TRUNCATED;
}

static enum coding_result expand_zstd(struct kx_slice packed, size_t max,
                                      void *memory, struct kx_buffer *out)
{
    ZSTD_DCtx *context = ZSTD_createDCtx_advanced(zstd_memory(memory));
    if (context == NULL)
        return CODING_NO_MEMORY;
    size_t status =
        ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, CODING_WINDOW_LOG);
    return ZSTD_isError(status) ? zstd_result(status)
                                : unzstd(context, packed, max, out);
}

enum coding_result coding_expand(enum coding coding, struct kx_slice packed,
                                 size_t max, struct kx_buffer *out)
{
    void *memory = talloc_new(out->owner);
    if (memory == NULL)
        return CODING_NO_MEMORY;
    enum coding_result result = coding == CODING_GZIP
                                    ? expand_gzip(packed, max, memory, out)
                                    : expand_zstd(packed, max, memory, out);
    talloc_free(memory);
    return result;
}

/* ---- Compression -------------------------------------------------------- */

struct coder {
    enum coding coding;
    z_stream gzip;
    ZSTD_CCtx *zstd;
};

static bool open_gzip(struct coder *coder, enum coder_effort effort)
{
    bool fast = effort == CODER_FAST;
    int window = fast ? GZIP_WINDOW : GZIP_WINDOW_MAX;
    gzip_memory(&coder->gzip, coder);
    return deflateInit2(&coder->gzip, GZIP_LEVELS[effort], Z_DEFLATED,
                        window + GZIP, fast ? GZIP_MEMORY : MAX_MEM_LEVEL,
                        Z_DEFAULT_STRATEGY) == Z_OK;
}

static bool set(const struct coder *coder, ZSTD_cParameter parameter, int value)
{
    return !ZSTD_isError(ZSTD_CCtx_setParameter(coder->zstd, parameter, value));
}

/* Makes libzstd allocate now what it otherwise would for the first bytes. */
static bool begin_zstd(const struct coder *coder)
{
    ZSTD_inBuffer none = {"", 0, 0};
    ZSTD_outBuffer nowhere = {NULL, 0, 0};
    return !ZSTD_isError(
        ZSTD_compressStream2(coder->zstd, &nowhere, &none, ZSTD_e_continue));
}

static bool open_zstd(struct coder *coder, enum coder_effort effort,
                      uint64_t size)
{
    coder->zstd = ZSTD_createCCtx_advanced(zstd_memory(coder));
    if (coder->zstd == NULL ||
        !set(coder, ZSTD_c_compressionLevel, ZSTD_LEVELS[effort]))
        return false;
    if (size != 0)
        return !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(coder->zstd, size));
    return set(coder, ZSTD_c_windowLog, ZSTD_STREAM_WINDOW) &&
           begin_zstd(coder);
}

struct coder *coder_new(enum coding coding, enum coder_effort effort,
                        uint64_t size, const void *memory)
{
    struct coder *coder = talloc_zero(memory, struct coder);
    if (coder == NULL)
        return NULL;
    coder->coding = coding;
    if (coding == CODING_GZIP ? open_gzip(coder, effort)
                              : open_zstd(coder, effort, size))
        return coder;
    talloc_free(coder);
    return NULL;
}

static bool add_gzip(struct coder *coder, struct kx_slice piece, bool last,
                     struct kx_buffer *out)
{
    z_stream *stream = &coder->gzip;
    stream->next_in = (uint8_t *)piece.data;
    stream->avail_in = (unsigned)piece.size;
    do {
        if (!kx_buffer_reserve(out, ROOM))
            return false;
        stream->next_out = out->data + out->size;
        stream->avail_out = ROOM;
        deflate(stream, last ? Z_FINISH : Z_SYNC_FLUSH);
        out->size += ROOM - stream->avail_out;
    } while (stream->avail_out == 0);
    return true;
}

static bool add_zstd(struct coder *coder, struct kx_slice piece, bool last,
                     struct kx_buffer *out)
{
    ZSTD_inBuffer in = {piece.data, piece.size, 0};
    size_t left;
    do {
        if (!kx_buffer_reserve(out, ROOM))
            return false;
        ZSTD_outBuffer room = {out->data + out->size, ROOM, 0};
        left = ZSTD_compressStream2(coder->zstd, &room, &in,
                                    last ? ZSTD_e_end : ZSTD_e_flush);
        out->size += room.pos;
    } while (left != 0 && !ZSTD_isError(left));
    return left == 0;
}

bool coder_add(struct coder *coder, struct kx_slice piece, bool last,
               struct kx_buffer *out)
{
    bool added = coder->coding == CODING_GZIP
                     ? add_gzip(coder, piece, last, out)
                     : add_zstd(coder, piece, last, out);
    out->failed |= !added;
    return added;
}
