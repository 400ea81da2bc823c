/* The rows of the catalog that keep the outcomes of commits with an idempotency
 * key (kindex/idempotency.h), and the rows that say when the outcomes expire.
 *
 * An outcome row, "retry/<key>", has the time until which the outcome is kept
 * (8 bytes, little endian), the digest (16 bytes) and the outcome.
 *
 * A due row, "retry-due/<time><key>", belongs to one batch. Its key has the
 * latest expiry time (8 bytes, big endian) of the batch's outcomes and the
 * first of their keys; its value has all of their keys, each after its size (2
 * bytes, little endian). The first due row is the next to be removed.
 *
 * A usage row, "retry-use/<sender>", has the bytes that the outcomes of a
 * sender take (8 bytes, little endian). It is written in the transaction that
 * adds or removes outcomes.
 *
 * So there is one more row per commit, and two per batch of one sender.
 * Programs that do not know these kinds skip them. */
#ifndef IDEMPOTENCY_ROWS_H
#define IDEMPOTENCY_ROWS_H

#include "engine/engine.h"

/* The contents of an outcome row; the slices point into the row. */
struct idempotency_row {
    int64_t until_ms;
    struct kx_slice digest; /* KX_FINGERPRINT_SIZE bytes */
    struct kx_slice outcome;
};

/* The bytes that the outcomes of one sender take. */
struct idempotency_usage {
    struct kx_slice sender;
    uint64_t stored; /* bytes in the usage row */
    int64_t change;  /* bytes that were added or removed since */
};
/* The usages of some senders. All zero except mem, a talloc context: empty. */
struct idempotency_usages {
    void *mem;
    struct idempotency_usage *list;
    size_t count;
};

/* Finds the usage of an idempotency key's sender, which is the part of the key
 * before its first slash, in the list, or adds it from the usage row. The
 * pointer is valid until the next call. KX_OK, KX_NO_MEMORY, KX_FAILED. */
enum kx_status idempotency_usage_find(struct idempotency_usages *usages,
                                      struct engine_view *view,
                                      struct kx_slice key,
                                      struct idempotency_usage **usage_out);
/* Adds or subtracts the bytes of the outcome of `key`, with a row of row_size
 * bytes. */
void idempotency_usage_add(struct idempotency_usage *usage, struct kx_slice key,
                           size_t row_size);
void idempotency_usage_remove(struct idempotency_usage *usage,
                              struct kx_slice key, size_t row_size);
/* Returns the bytes after the change, at least 0. */
uint64_t idempotency_usage_now(const struct idempotency_usage *usage);
/* Makes the write of the usage row in talloc context mem. False if memory ran
 * out. */
bool idempotency_usage_write(void *mem, const struct idempotency_usage *usage,
                             struct row_write *write_out);
/* Returns the bytes by which all usages of the list change. */
int64_t idempotency_usages_change(const struct idempotency_usages *usages);
/* Adds up the usage rows. KX_OK, KX_NO_MEMORY, KX_FAILED. */
enum kx_status idempotency_usages_total(void *mem, struct engine_view *view,
                                        uint64_t *bytes_out);

/* Append the key of an outcome row, and of a due row. */
void idempotency_row_key(struct kx_slice key, struct kx_buffer *out);
void idempotency_due_key(int64_t until_ms, struct kx_slice key,
                         struct kx_buffer *out);

/* Appends the value of an outcome row. */
void idempotency_row_write(const struct idempotency_row *row,
                           struct kx_buffer *out);

/* Reads the value of an outcome row. False if the bytes are not such a value.
 */
bool idempotency_row_read(struct kx_slice bytes,
                          struct idempotency_row *row_out);

/* The bounds of all due rows: from the first (inclusive) to the second
 * (exclusive). Static texts. */
struct kx_slice idempotency_due_start(void);
struct kx_slice idempotency_due_end(void);

/* Reads the time in the key of a due row. False for other keys. */
bool idempotency_due_read(struct kx_slice due_key, int64_t *until_ms_out);

/* Appends a key to the value of a due row. */
void idempotency_due_add(struct kx_slice key, struct kx_buffer *out);

/* Takes the next key from the rest of a due row's value. False at the end, or
 * if the rest is damaged. */
bool idempotency_due_next(struct kx_slice *left, struct kx_slice *key_out);

#endif
