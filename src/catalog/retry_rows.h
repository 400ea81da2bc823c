/* The rows of the catalog that keep the outcomes of commits under a key
 * (kindex/retry.h), and those that say until when. The row "retry/<key>" has
 * the time until which the outcome is stored (8 bytes, little endian), the
 * digest (16 bytes) and the outcome. The row "retry-due/<time><key>" has the
 * greatest time (8 bytes, big endian) of the outcomes that one batch has
 * stored, and the first of their keys; its value has all keys, each with its
 * size (2 bytes, little endian) before it. The first of these rows is the next
 * to be removed.
 *
 * So one row is added for each commit, and one for each batch. Programs that
 * know neither pass over them. */
#ifndef RETRY_ROWS_H
#define RETRY_ROWS_H

#include "engine/engine.h"

/* What the first row says; the slices point into it. */
struct retry_row {
    int64_t until_ms;
    struct kx_slice digest; /* KX_FINGERPRINT_SIZE bytes */
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

/* The time in the key of a second row; false if it is no such key. */
bool retry_due_read(struct kx_slice due_key, int64_t *until_ms_out);

/* Appends a key to the value of a second row. */
void retry_due_add(struct kx_slice key, struct kx_buffer *out);

/* Takes the next key from what is left of such a value. False at its end, or
 * when nothing that follows is a key. */
bool retry_due_next(struct kx_slice *left, struct kx_slice *key_out);

#endif
