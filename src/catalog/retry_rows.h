/* The rows of the catalog that keep the outcomes of commits with an idempotency
 * key (kindex/retry.h), and the rows that say when the outcomes expire.
 *
 * An outcome row, "retry/<key>", has the time until which the outcome is kept
 * (8 bytes, little endian), the digest (16 bytes) and the outcome.
 *
 * A due row, "retry-due/<time><key>", belongs to one batch. Its key has the
 * latest expiry time (8 bytes, big endian) of the batch's outcomes and the
 * first of their keys; its value has all of their keys, each after its size (2
 * bytes, little endian). The first due row is the next to be removed.
 *
 * So there is one more row per commit, and one per batch. Programs that know
 * neither kind skip them. */
#ifndef RETRY_ROWS_H
#define RETRY_ROWS_H

#include "engine/engine.h"

/* The contents of an outcome row; the slices point into the row. */
struct retry_row {
    int64_t until_ms;
    struct kx_slice digest; /* KX_FINGERPRINT_SIZE bytes */
    struct kx_slice outcome;
};

/* Append the key of an outcome row, and of a due row. */
void retry_row_key(struct kx_slice key, struct kx_buffer *out);
void retry_due_key(int64_t until_ms, struct kx_slice key,
                   struct kx_buffer *out);

/* Appends the value of an outcome row. */
void retry_row_write(const struct retry_row *row, struct kx_buffer *out);

/* Reads the value of an outcome row. False if the bytes are something else. */
bool retry_row_read(struct kx_slice bytes, struct retry_row *row_out);

/* The bounds of all due rows: from the first (inclusive) to the second
 * (exclusive). Static texts. */
struct kx_slice retry_due_start(void);
struct kx_slice retry_due_end(void);

/* Reads the time in the key of a due row. False for other keys. */
bool retry_due_read(struct kx_slice due_key, int64_t *until_ms_out);

/* Appends a key to the value of a due row. */
void retry_due_add(struct kx_slice key, struct kx_buffer *out);

/* Takes the next key from the rest of a due row's value. False at the end, or
 * if the rest is damaged. */
bool retry_due_next(struct kx_slice *left, struct kx_slice *key_out);

#endif
