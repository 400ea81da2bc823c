/* Changing `store` or `unique` of an index that is read and written meanwhile.
 *
 * With another `store` the keys stay. The rows are rewritten in place until all
 * have both forms (row_form.h); then one change of the catalog shows the new
 * form, and the rows are rewritten once more without the old one.
 *
 * With another `unique` the keys differ as well: the usual jobs build a second
 * index of the same name, which replaces the first as soon as it is ready
 * (batch.h). Writer thread only. */
#ifndef MIGRATE_H
#define MIGRATE_H

#include "commit/batch.h"

/* Carries out a KX_MIGRATE_INDEX or KX_UNDO_MIGRATION commit and sets its
 * result; *number_out is the batch to flush, unchanged when nothing was
 * applied. begin: KX_OK also if the index already is, or becomes, what the
 * patch says; KX_INDEX_ABSENT, KX_BAD_JSON, KX_JSON_TOO_DEEP, KX_BAD_INDEX,
 * KX_INDEX_NOT_READY, KX_INDEX_BUSY (another migration is under way),
 * KX_TOO_MANY_INDEXES. undo: KX_INDEX_ABSENT, KX_NO_MIGRATION. Nothing is
 * changed unless it is KX_OK. */
void migrate_begin(struct writer *writer, struct kx_commit *commit,
                   uint64_t *number_out);
void migrate_undo(struct writer *writer, struct kx_commit *commit,
                  uint64_t *number_out);

/* Applies a CATALOG_FORM batch and frees the declarations that the index no
 * longer has. As batch_apply. */
enum kx_status migrate_change(struct writer *writer, struct batch *batch,
                              uint64_t *number_out);

#endif
