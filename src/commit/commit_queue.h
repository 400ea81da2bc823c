/* The queue in front of the writer, which kx_submit fills, and the right to do
 * the writer's work: the writer's own thread has it, or a caller that borrows
 * it while the writer sleeps. */
#ifndef COMMIT_QUEUE_H
#define COMMIT_QUEUE_H

#include "commit/store_state.h"

/* For the writer: takes all commits in the queue. When there are none, waits
 * for one until until_ns (kx_monotonic_ns; 0: does not wait). While it waits
 * its work may be borrowed. False: stop. */
bool commit_queue_take(struct kx_store *store, uint64_t until_ns,
                       struct kx_commit **list_out);

/* Borrows the writer's work for the calling thread, any thread. False when the
 * writer has work, or the commit cannot be taken now. */
bool commit_queue_borrow(struct kx_store *store,
                         const struct kx_commit *commit);
/* Gives it back. The writer then takes the commits that came meanwhile, and
 * with `sooner` looks at its jobs: one is due before it would wake. */
void commit_queue_give_back(struct kx_store *store, bool sooner);

#endif
