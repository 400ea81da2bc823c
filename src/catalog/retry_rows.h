/* The rows of the catalog that keep the outcomes of commits under a key
 * (kindex/retry.h). Each outcome has two. The row "retry/<key>" has the time
 * until which it is stored (8 bytes, little endian), the digest (32 bytes) and
 * the outcome. The row "retry-due/<time><key>", whose time is the same (8
 * bytes, big endian), has no value: the first of these rows is the next to be
 * removed.
 *
 * Programs that know neither pass over them. */
#ifndef RETRY_ROWS_H
#define RETRY_ROWS_H

#include "engine/engine.h"

/* What the first row says; the slices point into it. */
struct retry_row {
    int64_t until_ms;
    struct kx_slice digest; /* KX_SHA256_SIZE bytes */
    struct kx_slice outcome;
};

/* Append the key of the first row, and of the second one. */
void retry_row_key(struct kx_slice key, struct kx_buffer *out);
void retry_due_key(int64_t until_ms, struct kx_slice key,
                   struct kx_buffer *out);

/* Appends the value of the first row. */
void retry_row_write(const struct retry_row *row, struct kx_buffer *out);

/* False if the bytes are no such value. */
bool retry_row_read(struct kx_slice bytes, struct retry_row *row_out);

/* The bounds of the second rows: from the first (inclusive) to the second
 * (exclusive). Texts of the program. */
struct kx_slice retry_due_start(void);
struct kx_slice retry_due_end(void);

/* The time and the commit's key in the key of a second row; false if it is no
 * such key. */
bool retry_due_read(struct kx_slice due_key, int64_t *until_ms_out,
                    struct kx_slice *key_out);

#endif
