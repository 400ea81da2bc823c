/* The exchanges of one event loop: those that are free, those whose turn comes
 * again, and the answers that the writer thread put down for it. All functions
 * belong to the loop's thread, but desk_put. */
#ifndef API_DESK_H
#define API_DESK_H

#include "service.h"

#include <pthread.h>

struct exchange;

struct desk {
    struct service *service;
    struct kx_reader *reader; /* of the loop's thread */
    unsigned number;          /* of the loop */
    int answers_fd;           /* eventfd; readable when answers are there */
    pthread_mutex_t lock;     /* guards answered */
    struct kx_ticket *answered;
    struct exchange *free;
    size_t free_count;
    struct exchange *turn_first; /* handlers that said AGAIN */
    struct exchange *turn_last;
    size_t in_flight; /* exchanges begun and not ended */
    size_t awaited;   /* of these, waiting for the core */
    bool closing;     /* nothing may be parked any more */
};

/* False when the system has no memory or descriptors left. */
bool desk_open(struct desk *desk, struct service *service, unsigned number);
/* Frees the exchanges; none may be in flight. */
void desk_close(struct desk *desk);

/* Adds the tickets of a list (linked by next) to the answers and wakes the
 * loop. Any thread. */
void desk_put(struct desk *desk, struct kx_ticket *first);
/* Continues every exchange that was answered. False when there was none. */
bool desk_take_answers(struct desk *desk);

/* Puts an exchange at the end of the queue of turns. */
void desk_queue_turn(struct desk *desk, struct exchange *exchange);
/* Gives each exchange that waits for its turn one slice; false when none
 * waited. */
bool desk_run_turns(struct desk *desk);
/* Ends the exchanges that wait for their turn with a problem. */
void desk_abandon_turns(struct desk *desk);

#endif
