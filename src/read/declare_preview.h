/* The cost of an index and the obstacles to its build, estimated from a sample
 * of the entries that it would cover. Writer thread only; nothing is changed.
 */
#ifndef DECLARE_PREVIEW_H
#define DECLARE_PREVIEW_H

#include "commit/writer_state.h"
#include "schema/declaration.h"

/* The estimated number of clients' entries with keys in [start, end), at least
 * one. */
uint64_t declare_preview_range(struct writer *writer, struct kx_slice start,
                               struct kx_slice end);

/* Makes commit->preview, in the commit's memory. `declared`: the same index is
 * declared already. KX_OK, KX_NO_MEMORY, KX_FAILED. */
enum kx_status declare_preview_index(struct writer *writer,
                                     struct kx_commit *commit,
                                     const struct declaration *declaration,
                                     bool declared);

#endif
