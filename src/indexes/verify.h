/* Compares an index with its entries in both directions, while both are read
 * and written. Each step compares some rows of one state of the store and, if
 * asked, repairs them in a commit. The report of a verification is part of the
 * index in the catalog, so the verification continues after a restart. Writer
 * thread only. */
#ifndef VERIFY_H
#define VERIFY_H

#include "builds/sweep.h"

/* Carries out a KX_VERIFY_INDEX commit and sets its result; *number_out is the
 * batch to flush, unchanged when nothing was applied. The comparison is done in
 * jobs. KX_OK also when one is under way; that one restarts only if it does not
 * repair and this one does. KX_INDEX_ABSENT, KX_INDEX_NOT_READY (also while the
 * index migrates), errors of the storage. */
void verify_begin(struct writer *writer, struct kx_commit *commit,
                  uint64_t *number_out);

/* True if a verification of the index is under way and can continue. */
bool verify_waits(const struct index *index);

/* The job of a verification that is under way. */
extern const struct sweep_policy verify_policy;

#endif
