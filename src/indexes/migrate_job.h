/* The jobs of a migration (migrate.h): rewriting the rows of an index. Writer
 * thread only. */
#ifndef MIGRATE_JOB_H
#define MIGRATE_JOB_H

#include "commit/store_state.h"

/* Are rows of the index to be rewritten? */
bool migrate_waits(const struct index *index);

/* The index to work on next as far as the paces allow, or NULL. */
struct index *migrate_next(const struct kx_store *store);

/* Rewrites its next rows. */
void migrate_step(struct kx_store *store, struct index *index);

#endif
