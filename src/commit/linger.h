/* Lingering: how long the writer waits for more commits before it begins with a
 * small batch. A flush costs the processor the same for one commit as for many;
 * among many reads the commits trickle in one by one, and each would be flushed
 * by itself. So while a thread has work at hand that may bring commits, and the
 * batch before was small as well, the writer waits for LINGER_COMMITS, but no
 * longer than LINGER_NS from the first. Large batches come about by themselves,
 * during the flush of the one before, and nobody waits. */
#ifndef LINGER_H
#define LINGER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum {
    LINGER_COMMITS = 8,
    LINGER_NS = 500000 /* for the first commit of the batch */
};

struct linger_state {
    pthread_cond_t enough; /* with the store's lock */
    atomic_uint feeders;   /* threads with work at hand; any thread */
    atomic_bool waiting;   /* the writer is; set under the store's lock */
    uint32_t last;         /* commits in the batch before; the writer's own */
};

/* Before anything else; nothing has to be given back. */
void linger_init(struct linger_state *linger);

/* The writer, with `lock` held, which is released while it waits: until
 * `*queued` commits, the first of which came at first_ns (kx_monotonic_ns), are
 * enough. Does not wait when there are none. */
void linger_wait(struct linger_state *linger, pthread_mutex_t *lock,
                 const uint32_t *queued, uint64_t first_ns);

/* With the store's lock held: so many commits wait now. */
void linger_look(struct linger_state *linger, uint32_t queued);

/* A thread has work at hand, and has none any more; any thread. */
void linger_feed(struct linger_state *linger);
void linger_rest(struct linger_state *linger, pthread_mutex_t *lock);

#endif
