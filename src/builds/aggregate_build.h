/* Builds the totals of declared aggregate indexes from the present entries.
 * Writer thread only. */
#ifndef AGGREGATE_BUILD_H
#define AGGREGATE_BUILD_H

#include "builds/sweep.h"

extern const struct sweep_policy aggregate_build_policy;

#endif
