/* The jobs of a migration (migrate.h): rewriting the rows of an index. Writer
 * thread only. */
#ifndef MIGRATE_JOB_H
#define MIGRATE_JOB_H

#include "commit/writer_state.h"

/* True if rows of the index must be rewritten. */
bool migrate_waits(const struct index *index);

/* The index to work on next that its throttle allows to continue, or NULL. */
struct index *migrate_next(const struct catalog *catalog);

/* Rewrites its next rows. */
void migrate_step(struct writer *writer, struct index *index);

#endif
