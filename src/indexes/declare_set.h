/* A set of declarations, and of names that are dropped: one change of the
 * catalog. Writer thread only. */
#ifndef DECLARE_SET_H
#define DECLARE_SET_H

#include "commit/writer_state.h"

/* Carries out a KX_DECLARE_INDEXES commit and sets its result; *number_out is
 * the batch to flush, unchanged when nothing was applied. Statuses: those of
 * KX_DECLARE_INDEX, and of KX_MIGRATE_INDEX for what is declared differently;
 * refusal.mutation is the number of the declaration. Nothing is changed unless
 * it is KX_OK. */
void declare_set(struct writer *writer, struct kx_commit *commit,
                 uint64_t *number_out);

#endif
