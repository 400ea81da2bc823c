/* The exchanges of one event loop: free ones, those that wait for a turn, and
 * the answers that the writer thread put there for the loop. Writer thread and
 * loop meet nowhere else, and share one list under one lock. All functions
 * belong to the loop's thread, except run_queue_put. */
#ifndef API_DESK_H
#define API_DESK_H

#include <pthread.h>
#include <sys/queue.h>

#include "exchange/timer_heap.h"
#include "http/service.h"

struct exchange;
TAILQ_HEAD(exchanges, exchange);

/* A queue of exchanges, linked by next. */
struct turns {
    struct exchange *first;
    struct exchange *last;
};

struct run_queue {
    struct service *service;
    struct kx_reader *reader; /* of the loop's thread */
    unsigned number;          /* of the loop */
    int answers_fd;           /* eventfd; readable when there are answers */
    pthread_mutex_t lock;     /* guards answered */
    struct kx_ticket *answered;
    struct exchange *free;
    size_t free_count;
    struct turns turns;       /* handlers that said AGAIN */
    struct turns later;       /* streams that wait for memory */
    uint64_t later_ns;        /* when these join `turns`, while there are any */
    uint64_t slices_end_ns;   /* of this turn of the loop */
    struct exchanges waiting; /* for news; the core has their request.wait */
    struct timer_heap alarms; /* for when their waits end */
    uint64_t late_ns;         /* alarms due by then have been handled */
    struct exchanges clients; /* wait for their client (exchange_share.c) */
    uint64_t now_ns;          /* of this turn of the loop, about */
    uint64_t look_ns;         /* exchange_share_look has nothing to do before */
    size_t in_flight;         /* exchanges begun and not ended */
    size_t awaited;           /* of these, waiting for the core */
    bool closing;             /* nothing may be parked any longer */
};

/* Opens the loop's reader and its eventfd; `number` tells the loops of one
 * service apart, from 0. False when the system has no memory or descriptors
 * left; there is nothing to close then. */
bool run_queue_open(struct run_queue *desk, struct service *service,
                    unsigned number);
/* Frees the exchanges; none may be in flight. */
void run_queue_close(struct run_queue *desk);

/* Adds the tickets of a list (linked by next) to the answers and wakes the
 * loop. Never blocks for longer than the list takes to be linked. Any
 * thread. */
void run_queue_put(struct run_queue *desk, struct kx_ticket *first);
/* Continues every exchange that was answered, which may call its `ready`. False
 * when there was none. */
bool run_queue_take_answers(struct run_queue *desk);

/* Puts an exchange at the end of the queue of turns. It must be in no other
 * list of the run queue. */
void run_queue_turn(struct run_queue *desk, struct exchange *exchange);
/* The same after a delay. For exchanges that wait for memory: in the queue of
 * turns they would keep the loop busy without work. */
void run_queue_later(struct run_queue *desk, struct exchange *exchange);
/* Called once in each turn of the loop: gives each exchange in the queue of
 * turns a slice until the time for slices is used up. The others come first in
 * the next call. False when none waited. */
bool run_queue_run_turns(struct run_queue *desk);
/* May a slice be made at once? Not while other exchanges wait for theirs, nor
 * when the time for slices is used up. */
bool run_queue_may_slice(const struct run_queue *desk);
/* Adds or removes an exchange whose request.wait is with the core. */
void run_queue_news(struct run_queue *desk, struct exchange *exchange);
void run_queue_end_news(struct run_queue *desk, struct exchange *exchange);
/* Continues the exchanges whose wait has expired, or all that wait for news if
 * the loop is `stopping`. False when there was none. */
bool run_queue_run_late(struct run_queue *desk, bool stopping);
/* Milliseconds until run_queue_run_turns or run_queue_run_late has something to
 * do; -1: never. */
int run_queue_timeout_ms(const struct run_queue *desk);
/* Does any exchange wait for its turn? */
bool run_queue_has_turns(const struct run_queue *desk);
/* Ends the exchanges that wait for their turn with a problem (503 stopping), or
 * breaks off their streams, because the loop stops. */
void run_queue_abandon_turns(struct run_queue *desk);

#endif
