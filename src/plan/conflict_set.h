/* The conflict rows (conflict_rows.h) that the commits of a plan have put, by
 * the value that they are about. Those in the table are found by a scan; the
 * plan's own changes are in no order.
 *
 * Writer thread only.
 */
#ifndef CONFLICT_SET_H
#define CONFLICT_SET_H

#include "kindex.h"

struct conflict_set;

/* An empty set under talloc context mem. NULL when memory ran out. */
struct conflict_set *conflict_set_create(void *mem);

/* Adds a row's key, which is copied: its first value_size bytes are the same in
 * all rows of a value. Adding a key again is harmless. False when memory ran
 * out; then nothing was added. */
bool conflict_set_add(struct conflict_set *set, struct kx_slice key,
                      size_t value_size);

/* The keys added for a value, in no order, some perhaps twice; they live until
 * the next is added. */
const struct kx_slice *conflict_set_of(const struct conflict_set *set,
                                       struct kx_slice value,
                                       size_t *count_out);

#endif
