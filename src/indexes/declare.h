/* Declaring and dropping indexes, and the pace of their background work:
 * commits that change the catalog. Each is planned and applied by itself.
 * Writer thread only. */
#ifndef DECLARE_H
#define DECLARE_H

#include "commit/writer_state.h"

/* Carries out a KX_DECLARE_INDEX or KX_DROP_INDEX commit and sets its result;
 * *number_out is the batch to flush, unchanged when nothing was applied.
 * Statuses: KX_BAD_JSON, KX_JSON_TOO_DEEP, KX_BAD_INDEX, KX_INDEX_EXISTS,
 * KX_INDEX_NAME_USED, KX_TOO_MANY_INDEXES; KX_INDEX_ABSENT for a drop; errors
 * of the storage. Nothing is changed unless it is KX_OK. */
void declare_index(struct writer *writer, struct kx_commit *commit,
                   uint64_t *number_out);
void declare_drop(struct writer *writer, struct kx_commit *commit,
                  uint64_t *number_out);

/* Pauses, resumes or throttles the background work on an index: carries out a
 * KX_PACE_INDEX commit, as above. KX_OK, KX_INDEX_ABSENT, errors of the
 * storage.
 */
void declare_throttle(struct writer *writer, struct kx_commit *commit,
                      uint64_t *number_out);

#endif
