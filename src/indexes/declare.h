/* Declaring and dropping indexes and rules, and the pace of their background
 * work: commits that change the catalog. Each is planned and applied by itself.
 * Writer thread only. */
#ifndef DECLARE_H
#define DECLARE_H

#include "commit/batch.h"

/* Plans the declaration of an index, which has only its declaration. `catalog`
 * is the one that the index will be added to: the writer's, or a copy with
 * changes that belong to the same commit. KX_OK: the index is filled in, and
 * *batch_out is the change; KX_END: it is declared already. Otherwise the
 * commit's fault is set, as below. */
enum kx_status declare_plan(struct writer *writer,
                            const struct catalog *catalog,
                            struct kx_commit *commit, struct index *index,
                            struct batch *batch_out);
/* Checks the declaration against the catalog: its size, and that its name and
 * prefix do not conflict with those of other indexes. KX_OK, KX_BAD_INDEX. */
enum kx_status declare_check(const struct catalog *catalog,
                             const struct declaration *want,
                             struct kx_fault *fault);

/* Checks that each rule that needs the index to find referring entries still
 * has one after the index is changed to `want`, or dropped (want NULL): the
 * changed index, or another index that fits. KX_OK; KX_REFERENCED with the
 * refusal filled in. */
enum kx_status declare_check_needed(const struct catalog *catalog,
                                    struct kx_commit *commit,
                                    const struct index *index,
                                    const struct declaration *want);

/* True if a failed index restarts its build when it is declared again. */
bool declare_restarts(const struct catalog *catalog, const struct index *have);

/* Carries out a KX_DECLARE_INDEX or KX_DROP_INDEX commit and sets its result;
 * *number_out is the batch to flush, unchanged when nothing was applied.
 * Statuses: KX_BAD_JSON, KX_JSON_TOO_DEEP, KX_BAD_INDEX, KX_INDEX_EXISTS,
 * KX_INDEX_NAME_USED, KX_TOO_MANY_INDEXES; KX_INDEX_ABSENT and KX_REFERENCED
 * for a drop; errors of the storage. Nothing is changed unless it is KX_OK. */
void declare_index(struct writer *writer, struct kx_commit *commit,
                   uint64_t *number_out);
void declare_drop(struct writer *writer, struct kx_commit *commit,
                  uint64_t *number_out);

/* Carry out a KX_DECLARE_RULE or KX_DROP_RULE commit, as above: KX_BAD_JSON,
 * KX_JSON_TOO_DEEP, KX_BAD_RULE, KX_TOO_MANY_RULES, and the statuses of
 * declare_index for the index of a reference; KX_RULE_ABSENT for a drop; errors
 * of the storage. */
void declare_rule(struct writer *writer, struct kx_commit *commit,
                  uint64_t *number_out);
void declare_rule_drop(struct writer *writer, struct kx_commit *commit,
                       uint64_t *number_out);

/* Pauses, resumes or throttles the background work on an index: carries out a
 * KX_PACE_INDEX commit, as above. KX_OK, KX_INDEX_ABSENT, errors of the
 * storage.
 */
void declare_throttle(struct writer *writer, struct kx_commit *commit,
                      uint64_t *number_out);

#endif
