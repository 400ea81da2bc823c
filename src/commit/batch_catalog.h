/* What a batch changes of the catalog in memory. Writer only, inside the gate's
 * apply. */
#ifndef BATCH_CATALOG_H
#define BATCH_CATALOG_H

#include "commit/batch.h"

/* What an index was before. */
struct former_index {
    enum kx_index_state state;
    struct declaration *declaration;
    struct form form;
    uint32_t replaces;
    uint64_t entries;
    uint64_t conflicts;
    struct build_progress build;
    struct throttle pace;
};

/* What the catalog was before; of the indexes only those that the batch has are
 * filled. What the plan has counted, and what changes places with something of
 * the batch, is found there. */
struct former {
    uint64_t stamp;
    struct former_index index;
    struct former_index other;
};

/* The index that is dropped together with what the batch does: the one that is
 * replaced, or the one that would have replaced it, or has failed to; or NULL.
 */
struct index *batch_catalog_other(const struct catalog *catalog,
                                  const struct batch *batch);

/* Gives the catalog the batch's values, of batch->other as well. No lists
 * change: batch_catalog_restore takes all of it back. */
void batch_catalog_change(struct catalog *catalog, struct batch *batch,
                          struct former *former_out);
void batch_catalog_restore(struct catalog *catalog, struct batch *batch,
                           const struct former *former);

/* The changes that cannot be taken back, after the rows are in the tables:
 * pointers move between the lists, or the index is freed. */
void batch_catalog_rearrange(struct catalog *catalog,
                             const struct batch *batch);

#endif
