/* The rows of the catalog that keep the outcomes of commits under a key
 * (kindex/retry.h). Each outcome has two:
 *
 *   "retry/<key>"            until when (8, little endian), digest (32),
 * outcome "retry-due/<time><key>"  the same time (8, big endian), so that the
 * first row is the next to be removed; no value
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
