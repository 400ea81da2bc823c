/* Further owners of a value in a unique index. They arise when the index is
 * declared over entries that share a value already.
 *
 * The first owner found has the ordinary row. Each further owner has a conflict
 * row: [name] FE [value] [owner]. No key part begins with FE, so these rows lie
 * together and apart from clients' keys. They hold no value. An index with
 * conflict rows is not ready. Their number is counted with every batch; when
 * the last is removed the index becomes ready.
 *
 * Writer thread only, while a commit is planned; conflict_rows_make and
 * conflict_rows_match: any thread. */
#ifndef CONFLICT_ROWS_H
#define CONFLICT_ROWS_H

#include "plan/plan.h"

/* Follows the name in a conflict row's key. */
enum { CONFLICT_ROWS_MARK = 0xfe };

/* True if a value may have several owners, with the changes planned so far. */
bool conflict_rows_possible(const struct plan *plan, const struct index *index);

/* Replaces key_out by the key of the conflict row of an owner (its key without
 * the index's prefix; empty: the beginning of all such rows of the value), and
 * *record_out by its record, but for the stamp. Without memory key_out->failed
 * is set. */
void conflict_rows_make(const struct index *index, struct kx_slice index_key,
                        struct kx_slice owner, struct kx_buffer *key_out,
                        struct record *record_out);

/* True for the key of a conflict row, which may be longer than KX_KEY_MAX. */
bool conflict_rows_match(struct kx_slice key);

/* Write or remove the conflict row of an owner, and count it if that adds or
 * removes a row. KX_OK, KX_NO_MEMORY, KX_FAILED. */
enum kx_status conflict_rows_put(struct plan *plan, struct index *index,
                                 struct kx_slice index_key,
                                 struct kx_slice owner, int64_t expires_at_ms);
enum kx_status conflict_rows_remove(struct plan *plan, struct index *index,
                                    struct kx_slice index_key,
                                    struct kx_slice owner);

/* Replaces owner_out by the first owner with a conflict row for the value that
 * has not expired: KX_OK, KX_ABSENT, KX_NO_MEMORY, KX_FAILED. */
enum kx_status conflict_rows_first(struct plan *plan, const struct index *index,
                                   struct kx_slice index_key,
                                   struct kx_buffer *owner_out);

#endif
