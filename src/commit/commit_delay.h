/* How long the writer waits for more commits before it begins a small batch. A
 * flush costs the processor the same for one commit as for many; among many
 * reads, commits arrive one by one, and each would get its own flush. So the
 * writer waits for COMMIT_DELAY_COMMITS commits while a thread has work at hand
 * that may bring commits and the previous batch was small as well, but at most
 * COMMIT_DELAY_NS from the first commit. Large batches form by themselves
 * during the flush of the previous one, and need no wait. */
#ifndef COMMIT_DELAY_H
#define COMMIT_DELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum {
    COMMIT_DELAY_COMMITS = 8,
    COMMIT_DELAY_NS = 500000 /* for the first commit of the batch */
};

struct commit_delay {
    pthread_cond_t enough; /* with the lock of the queue */
    atomic_uint expecting; /* threads with work at hand; any thread */
    atomic_bool waiting;   /* the writer is; set under that lock */
    uint32_t last;         /* commits in the batch before; the writer's own */
};

/* Before anything else; nothing has to be given back. */
void commit_delay_init(struct commit_delay *delay);

/* The writer, with `lock` held; the lock is released while it waits. Waits
 * until `*queued` commits are enough; the first of them came at first_ns
 * (kx_monotonic_ns). Does not wait when the queue is empty. */
void commit_delay_wait(struct commit_delay *delay, pthread_mutex_t *lock,
                       const atomic_uint *queued, uint64_t first_ns);

/* With that lock held: `queued` commits wait now. */
void commit_delay_look(struct commit_delay *delay, uint32_t queued);

/* A thread has work at hand; it no longer has. Any thread. */
void commit_delay_expect(struct commit_delay *delay);
void commit_delay_done(struct commit_delay *delay, pthread_mutex_t *lock);

#endif
