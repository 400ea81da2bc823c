/* Content codings, gzip and zstd: what the headers Content-Encoding and
 * Accept-Encoding say (RFC 9110 sections 8.4 and 12.5.3), compression and
 * decompression. Any thread may call the functions; a coder belongs to one
 * thread at a time. */
#ifndef API_CODING_H
#define API_CODING_H

#include "kindex.h"

enum coding { CODING_IDENTITY, CODING_GZIP, CODING_ZSTD, CODING_UNKNOWN };

enum {
    CODING_WINDOW_LOG = 23 /* largest window of zstd, 8 MiB: RFC 9659 */
};

/* Returns the coding that the value of Content-Encoding names, without regard
 * to case; CODING_IDENTITY for NULL and "". A list of several codings is
 * CODING_UNKNOWN. */
enum coding coding_named(const char *content_encoding);
/* Returns the name of the coding, which headers use. */
const char *coding_name(enum coding coding);
/* Returns the coding with the largest weight that the value of Accept-Encoding
 * gives to zstd or gzip, zstd if the weights are equal. CODING_IDENTITY if both
 * are missing or have the weight 0, or identity has a larger weight. */
enum coding coding_accepted(const char *accept_encoding);

enum coding_result {
    CODING_DONE,
    CODING_TOO_LARGE, /* the decompressed bytes would be more than `max` */
    CODING_TRUNCATED, /* the bytes end too early */
    CODING_MALFORMED, /* the bytes are not of this coding, or other bytes follow
                       * them */
    CODING_WINDOW, /* zstd: the window is larger than CODING_WINDOW_LOG says */
    CODING_NO_MEMORY
};

/* Decompresses one or more gzip members or zstd frames and appends the result,
 * at most max bytes, to out. The content of out is undefined unless the result
 * is CODING_DONE. Allocates in out->owner. */
enum coding_result coding_expand(enum coding coding, struct kx_slice packed,
                                 size_t max, struct kx_buffer *out);

/* Compresses bytes that come in pieces. */
struct coder;

enum coder_effort {
    CODER_FAST, /* for bytes that are sent once */
    CODER_SMALL /* for bytes that are sent often */
};

/* Makes a coder for gzip or zstd, a talloc child of memory. The coder allocates
 * only below itself and, if the size is unknown, before this returns. size:
 * number of bytes of all pieces; 0: unknown. Returns NULL if memory ran out.
 * Free it with talloc_free. */
struct coder *coder_new(enum coding coding, enum coder_effort effort,
                        uint64_t size, const void *memory);
/* Compresses the piece, appends the result to out and flushes the coder, so a
 * client can decompress everything up to here. The last piece, which may be
 * empty, ends the data. False, with out->failed set, if memory ran out. */
bool coder_add(struct coder *coder, struct kx_slice piece, bool last,
               struct kx_buffer *out);

#endif
