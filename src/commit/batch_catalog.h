/* The changes of a batch to the catalog in memory. Writer only, after
 * view_apply_begin. */
#ifndef BATCH_CATALOG_H
#define BATCH_CATALOG_H

#include "commit/batch.h"

/* What an index was before. */
struct former_index {
    enum kx_index_state state;
    struct declaration *declaration;
    struct row_form form;
    uint32_t replaces;
    uint64_t entries;
    uint64_t conflicts;
    struct build_progress build;
    struct throttle pace;
};

/* The catalog's former values. Only the indexes that the batch names are filled
 * in. The plan's counts are not here: batch_catalog_restore subtracts them;
 * values that are swapped with the batch are swapped back. */
struct former {
    uint64_t stamp;
    struct former_index index;
    struct former_index other;
};

/* The index that is dropped together with the batch's action: the replaced one,
 * or one that would have replaced it or has failed to; or NULL. */
struct index *batch_catalog_other(const struct catalog *catalog,
                                  const struct batch *batch);
/* Sets `other` and `before` of the batch and of batch->also. */
void batch_catalog_note(const struct catalog *catalog, struct batch *batch);

/* Gives the catalog the batch's values, also those of batch->other, and those
 * of batch->also. No lists change: batch_catalog_restore undoes all of it.
 * former_out has one element, and one more for each of batch->also. */
void batch_catalog_change(struct catalog *catalog, struct batch *batch,
                          struct former *former_out);
void batch_catalog_restore(struct catalog *catalog, struct batch *batch,
                           const struct former *former);

/* The changes that cannot be undone, after the rows are in the tables: indexes
 * move between the lists, or the index is freed. */
void batch_catalog_rearrange(struct catalog *catalog,
                             const struct batch *batch);

#endif
