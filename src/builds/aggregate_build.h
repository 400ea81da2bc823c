/* Building the totals of declared aggregate indexes from the present entries.
 * Writer thread only. */
#ifndef AGGREGATE_BUILD_H
#define AGGREGATE_BUILD_H

#include "commit/writer_state.h"

/* The aggregate index to build next that its throttle allows to continue, or
 * NULL. */
struct index *aggregate_build_next(const struct catalog *catalog);

/* Reads the next entries and adds them to their groups. */
void aggregate_build_step(struct writer *writer, struct index *index);

#endif
