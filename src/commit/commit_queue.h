/* The queue in front of the writer, and the right to do the writer's work: the
 * writer's own thread has it, or a caller that borrows it while the writer
 * sleeps.
 *
 * The queue is fair between clients (struct kx_client) by deficit round robin:
 * in each round every client that has commits waiting gets a turn of
 * COMMIT_TURN_UNITS units of work (base/charge.h). A commit is charged when it
 * has been planned and its cost is known, so a turn may exceed these units by
 * one commit; its client then has no turn in as many rounds as it took turns. A
 * client that has nothing waiting collects no turns. So a commit waits for at
 * most one long commit of each other client.
 *
 * The writer may wait for more commits before it begins a small batch. A flush
 * costs the processor the same for one commit as for many; among many reads,
 * commits arrive one by one, and each would get its own flush. So while threads
 * have work at hand that may bring commits, and the previous batch was small as
 * well, the writer waits for COMMIT_DELAY_COMMITS commits, but at most
 * COMMIT_DELAY_NS from the first one. Larger batches form by themselves during
 * the flush of the previous one. */
#ifndef COMMIT_QUEUE_H
#define COMMIT_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "kindex/commit.h"

struct engine;

enum {
    COMMIT_DELAY_COMMITS = 8,
    COMMIT_DELAY_NS = 500000,
    COMMIT_TURN_UNITS = 1000000, /* about 1 ms */
    COMMIT_LONG_UNITS = 20000000 /* cost of a long commit, and of the commits
                                  * after which a batch is closed: 20 ms */
};

struct commit_queue {
    /* Set before the threads start. */
    const struct engine *engine;
    uint32_t max;
    /* Under `lock`. */
    pthread_mutex_t lock;
    pthread_cond_t work; /* signals the writer that the queue is not empty */
    pthread_cond_t returned; /* for the writer: its work is its own again */
    pthread_cond_t enough;   /* for the writer: it need not wait for more */
    bool stopping;
    bool working;            /* the writer is at work, on commits or jobs */
    bool borrowed;           /* another thread does its work */
    struct kx_commit *first; /* submitted since the writer last looked, in
                              * order; or NULL */
    struct kx_commit *last;
    /* Any thread. */
    atomic_uint count;     /* commits that wait, here and in the clients */
    atomic_uint expecting; /* threads with work that may bring commits */
    atomic_bool delaying;  /* the writer waits for more; set under `lock` */
    /* Only for the thread that does the writer's work. */
    STAILQ_HEAD(commit_clients, kx_client)
    clients; /* that have commits waiting */
    size_t client_count;
    size_t left; /* leading clients of the list that were not yet served in this
                  * round */
    uint64_t round;
    uint32_t last_count;      /* commits that were taken the last time */
    struct kx_client unnamed; /* of commits without a client */
};

/* Before the threads start, with the first group of members set. The writer
 * counts as working until it first takes commits. finish: no thread uses it. */
void commit_queue_init(struct commit_queue *queue);
void commit_queue_finish(struct commit_queue *queue);

/* As kx_submit (kindex/commit.h). Any thread. */
enum kx_status commit_queue_submit(struct commit_queue *queue,
                                   struct kx_commit *commit);

/* How many commits wait: those that the writer has begun do not. Any thread. */
uint32_t commit_queue_count(const struct commit_queue *queue);

/* Announce that the calling thread has work that may bring commits, and that it
 * no longer has (kx_commits_expected and kx_commits_done). */
void commit_queue_expect(struct commit_queue *queue);
void commit_queue_expect_end(struct commit_queue *queue);

/* From now on no commit is accepted, and the writer stops when the queue is
 * empty. Any thread. */
void commit_queue_stop(struct commit_queue *queue);

/* For the writer: lets the submitted commits wait for the turns of their
 * clients. If no commit waits, waits for one until until_ns (kx_monotonic_ns;
 * 0: does not wait). While it waits its work may be borrowed. False: stop. */
bool commit_queue_take(struct commit_queue *queue, uint64_t until_ns);

/* ---- For the thread that does the writer's work ------------------------- */

/* Returns the commit whose turn it is, or NULL if no commit waits. */
const struct kx_commit *commit_queue_next(struct commit_queue *queue);

/* Removes the next commit from the queue and returns it, with `next` NULL; NULL
 * if the queue is empty. */
struct kx_commit *commit_queue_pop(struct commit_queue *queue);

/* Charges the commit's client for this commit. */
void commit_queue_charge(struct commit_queue *queue,
                         const struct kx_commit *commit, uint64_t units);

/* Returns whether the last commit of this commit's client was long. */
bool commit_queue_expects_long(struct commit_queue *queue,
                               const struct kx_commit *commit);

/* Lists at most `max` of the waiting commits, about in the order of their
 * turns, and returns how many. */
size_t commit_queue_list(const struct commit_queue *queue,
                         const struct kx_commit **list, size_t max);

/* ---- Borrowing ---------------------------------------------------------- */

/* Borrows the writer's work for the calling thread, any thread. False when the
 * writer has work, or the commit cannot be taken now. */
bool commit_queue_borrow(struct commit_queue *queue,
                         const struct kx_commit *commit);
/* Returns the work to the writer. The writer then takes the commits that
 * arrived meanwhile; with `wake` it checks its work even if none arrived. */
void commit_queue_give_back(struct commit_queue *queue, bool wake);

#endif
