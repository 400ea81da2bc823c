/* The queue in front of the writer, which kx_submit fills, and whose turn it is
 * to do the writer's work: that of its own thread, or of a caller who borrows
 * it while it sleeps.
 */
#ifndef COMMIT_QUEUE_H
#define COMMIT_QUEUE_H

#include "commit/store_state.h"

/* The writer's: takes all that is in the queue; waits for a commit when `idle`.
 * False: stop. While it waits its work may be borrowed. */
bool commit_queue_take(struct kx_store *store, bool idle,
                       struct kx_commit **list_out);

/* Borrows the writer's work for the calling thread, any thread; false when the
 * writer has some, or a commit cannot be taken now. */
bool commit_queue_borrow(struct kx_store *store);
/* Gives it back; afterwards the writer looks at what has come meanwhile, with
 * `sooner` also at its jobs: one is due before it would wake. */
void commit_queue_give_back(struct kx_store *store, bool sooner);

#endif
