/* Another `store` or `unique` for an index that is read and written meanwhile.
 *
 * With another store the keys of its entries stay: the rows are rewritten where
 * they are until all have both forms (row_form.h), then one change of the
 * catalog shows the new one, and the rows are rewritten once more without the
 * old.
 *
 * With another `unique` the keys are others, too: a second index of the same
 * name is built by the usual jobs, and comes in the first one's place as soon
 * as it is ready (batch.h). Writer thread only.
 */
#ifndef MIGRATE_H
#define MIGRATE_H

#include "commit/batch.h"

/* Carries out a KX_MIGRATE_INDEX or KX_UNDO_MIGRATION commit and sets its
 * result; *number_out is the batch to flush, unchanged when nothing was
 * applied. begin: KX_OK also when the index is as the patch says or is becoming
 * so; KX_INDEX_ABSENT, KX_BAD_JSON, KX_JSON_TOO_DEEP, KX_BAD_INDEX,
 * KX_INDEX_NOT_READY, KX_INDEX_BUSY (another migration is under way),
 * KX_TOO_MANY_INDEXES. undo: KX_INDEX_ABSENT, KX_NO_MIGRATION. Nothing is
 * changed unless it is KX_OK. */
void migrate_begin(struct kx_store *store, struct kx_commit *commit,
                   uint64_t *number_out);
void migrate_undo(struct kx_store *store, struct kx_commit *commit,
                  uint64_t *number_out);

/* Applies a CATALOG_FORM batch and frees the declarations that the index no
 * longer has. As batch_apply. */
enum kx_status migrate_change(struct kx_store *store, struct batch *batch,
                              uint64_t *number_out);

#endif
