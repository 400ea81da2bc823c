/* Building indexes that are declared over present entries. Writer thread only.
 */
#ifndef BUILD_JOB_H
#define BUILD_JOB_H

#include "commit/writer_state.h"

/* The index to build next that its throttle allows to continue, or NULL. */
struct index *build_job_next(const struct catalog *catalog);

/* Is there anything to do for indexes being built? */
bool build_job_waiting(const struct writer *writer);

/* The next step of the indexes being built. */
void build_job_step(struct writer *writer);

/* Frees what was gathered for indexes that are no longer built. Before an index
 * can be freed. */
void build_job_prune(struct writer *writer);

/* Frees all that was gathered; nothing that is stored depends on it. */
void build_job_end(struct writer *writer);

#endif
