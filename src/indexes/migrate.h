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

#include "builds/sweep.h"

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

/* Plans the migration of an index, `have`, to the declaration of `successor`,
 * which has nothing else. `catalog` as for declare_plan. KX_OK: *batch_out is
 * the change; KX_END: the index already is, or becomes, so. Otherwise the
 * commit's fault is set, as above. */
enum kx_status migrate_plan(const struct catalog *catalog,
                            struct kx_commit *commit, struct index *have,
                            struct index *successor, struct batch *batch_out);

/* The declarations that an index has before a change of its form. After the
 * change migrate_free_unused frees those that the index no longer has. */
struct migrate_declarations {
    struct declaration *list[3];
};
void migrate_list_declarations(const struct index *index,
                               struct migrate_declarations *before_out);
void migrate_free_unused(const struct index *index,
                         const struct migrate_declarations *before);

/* True if rows of the index must be rewritten. */
bool migrate_waits(const struct index *index);

/* The job that rewrites the rows, and the one that lets a second index replace
 * the first as soon as commits have resolved its last conflict. */
extern const struct sweep_policy migrate_policy;
extern const struct sweep_policy migrate_replace_policy;

#endif
