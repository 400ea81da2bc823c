/* The queue in front of the writer, and the right to do the writer's work: the
 * writer's own thread has it, or a caller that borrows it while the writer
 * sleeps. */
#ifndef COMMIT_QUEUE_H
#define COMMIT_QUEUE_H

#include <pthread.h>

#include "commit/commit_delay.h"
#include "kindex/commit.h"

struct engine;

struct commit_queue {
    /* Set before the threads start. */
    const struct engine *engine;
    uint32_t max;
    /* Under `lock`. */
    pthread_mutex_t lock;
    pthread_cond_t work;     /* for the writer: something is in the queue */
    pthread_cond_t returned; /* for the writer: its work is its own again */
    bool stopping;
    bool working;            /* the writer is at work, on commits or jobs */
    bool borrowed;           /* another thread does its work */
    struct kx_commit *first; /* waiting commits, in order; or NULL */
    struct kx_commit *last;
    uint32_t count;            /* how many wait */
    struct commit_delay delay; /* its header says which thread uses what */
};

/* Before the threads start, with the first group of members set. The writer
 * counts as working until it first takes commits. finish: no thread uses it. */
void commit_queue_init(struct commit_queue *queue);
void commit_queue_finish(struct commit_queue *queue);

/* As kx_submit (kindex/commit.h). Any thread. */
enum kx_status commit_queue_submit(struct commit_queue *queue,
                                   struct kx_commit *commit);

/* How many commits wait. Any thread. */
uint32_t commit_queue_count(struct commit_queue *queue);

/* From now on no commit is accepted, and the writer is to stop when the queue
 * is empty. Any thread. */
void commit_queue_stop(struct commit_queue *queue);

/* For the writer: takes all commits in the queue. If the queue is empty, waits
 * for one until until_ns (kx_monotonic_ns; 0: does not wait). While it waits
 * its work may be borrowed. False: stop. */
bool commit_queue_take(struct commit_queue *queue, uint64_t until_ns,
                       struct kx_commit **list_out);

/* Borrows the writer's work for the calling thread, any thread. False when the
 * writer has work, or the commit cannot be taken now. */
bool commit_queue_borrow(struct commit_queue *queue,
                         const struct kx_commit *commit);
/* Gives it back. The writer then takes the commits that came meanwhile, and
 * with `wake` looks at its work even if none came. */
void commit_queue_give_back(struct commit_queue *queue, bool wake);

#endif
