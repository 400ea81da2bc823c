/* What a recovery would cost if the process were killed now.
 *
 * Recovery reads the log from the place where the last complete checkpoint
 * began, and every page that a record there changes; pages that were in memory
 * only it writes again. How many pages that are depends on how scattered the
 * writes are: 128 MiB of log may concern 10,000 pages, or 300,000. So bytes of
 * log alone do not limit its time.
 */
#ifndef RECOVERY_COST_H
#define RECOVERY_COST_H

#include <stdint.h>

struct env;

/* Where a recovery would begin. */
struct recovery_start {
    uint64_t log_at;  /* bytes of log before it */
    uint64_t evicted; /* changed pages that left the cache before it */
};

struct recovery_cost {
    uint64_t log_bytes; /* to be read */
    uint64_t pages;     /* to be read, and perhaps written */
    uint64_t us;        /* of the processor, by what both took when measured */
};

/* The place that the log has reached. Any thread; takes as long as
 * recovery_cost_now. */
struct recovery_start recovery_start_here(const struct env *env);

/* A bound of the cost in microseconds by the log alone: no record changes more
 * than a page. Any thread. */
uint64_t recovery_cost_most(const struct env *env);

/* The cost from the last checkpoint on, or from the opening of the environment,
 * which ends with one. It looks through the table of the whole cache: some 20
 * ms for 3 GiB. Checkpointer thread only. */
struct recovery_cost recovery_cost_now(const struct env *env);

#endif
