/* Merging the rows that a build has gathered into the table: what is stored
 * under their keys decides which of them are written. Writer thread only. */
#ifndef BUILD_MERGE_H
#define BUILD_MERGE_H

#include "commit/batch.h"

/* Compares `count` rows of batch->index, which are in batch->writes in key
 * order (and may be changed), with what is stored, and leaves there those to be
 * written; fills write_count and the counts of the batch. Further owners of a
 * unique value get conflict rows; an index that adopts takes over the hand-kept
 * entries that it finds there. Memory is allocated in mem, which must live
 * until the batch is applied. KX_OK, KX_NO_MEMORY, KX_FAILED. */
enum kx_status build_merge_rows(struct writer *writer, void *mem,
                                struct batch *batch, size_t count);

#endif
