/* Putting the rows that a build has gathered in their place: what is stored
 * under their keys decides which of them are written. Writer thread only.
 */
#ifndef BUILD_MERGE_H
#define BUILD_MERGE_H

#include "commit/batch.h"

/* Compares `count` rows of batch->index, which lie in batch->writes in key
 * order (and may be changed), with what is stored, and leaves those to be
 * written there; fills write_count and the counts of the batch. Further owners
 * of a unique value get conflict rows; an index that adopts hand-kept entries
 * takes over those in the way. What it makes is of talloc context mem, which
 * must live until the batch is applied. KX_OK, KX_NO_MEMORY, KX_FAILED. */
enum kx_status build_merge_rows(struct kx_store *store, void *mem,
                                struct batch *batch, size_t count);

#endif
