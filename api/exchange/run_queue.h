/* The exchanges of one event loop: those that are free, those whose turn comes
 * again, and the answers that the writer thread put down for it. The desk is
 * the only place where the writer thread and a loop meet, and one list under
 * one lock is all they share. All functions belong to the loop's thread, but
 * run_queue_put. */
#ifndef API_DESK_H
#define API_DESK_H

#include <pthread.h>
#include <sys/queue.h>

#include "exchange/timer_heap.h"
#include "http/service.h"

struct exchange;
TAILQ_HEAD(exchanges, exchange);

/* In their order, linked by next. */
struct turns {
    struct exchange *first;
    struct exchange *last;
};

struct run_queue {
    struct service *service;
    struct kx_reader *reader; /* of the loop's thread */
    unsigned number;          /* of the loop */
    int answers_fd;           /* eventfd; readable when answers are there */
    pthread_mutex_t lock;     /* guards answered */
    struct kx_ticket *answered;
    struct exchange *free;
    size_t free_count;
    struct turns turns;     /* handlers that said AGAIN */
    struct turns later;     /* streams that wait for memory */
    uint64_t later_ns;      /* when they have their turn, while there are any */
    uint64_t slices_end_ns; /* of this turn of the loop */
    struct exchanges waiting; /* for news: their request.wait is the core's */
    struct timer_heap alarms; /* for when their times are over */
    uint64_t late_ns;         /* those due by then have had their turn */
    struct exchanges clients; /* that wait for theirs (exchange_share.c) */
    uint64_t now_ns;          /* of this turn of the loop, about */
    uint64_t look_ns;         /* exchange_share_look has nothing to do before */
    size_t in_flight;         /* exchanges begun and not ended */
    size_t awaited;           /* of these, waiting for the core */
    bool closing;             /* nothing may be parked any more */
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
 * list of the desk. */
void run_queue_turn(struct run_queue *desk, struct exchange *exchange);
/* The same in a moment: the queue of turns would be empty but for those that
 * have nothing to do as yet. */
void run_queue_later(struct run_queue *desk, struct exchange *exchange);
/* Once in each turn of the loop: gives the exchanges that wait for their turn a
 * slice each, as far as the time for that goes; the others are first the next
 * time. False when none waited. */
bool run_queue_run_turns(struct run_queue *desk);
/* May a slice be made at once? Not while others wait for theirs, or when the
 * time for slices is over. */
bool run_queue_may_slice(const struct run_queue *desk);
/* Adds an exchange whose request.wait is with the core, or takes it out. */
void run_queue_news(struct run_queue *desk, struct exchange *exchange);
void run_queue_end_news(struct run_queue *desk, struct exchange *exchange);
/* Goes on with the exchanges whose time is over; with all that wait for news
 * when the loop is `stopping`. False when there was none. */
bool run_queue_run_late(struct run_queue *desk, bool stopping);
/* Milliseconds until run_queue_run_turns or run_queue_run_late has something to
 * do; -1: never. */
int run_queue_timeout_ms(const struct run_queue *desk);
/* Does any exchange wait for its turn? */
bool run_queue_has_turns(const struct run_queue *desk);
/* Ends the exchanges that wait for their turn with a problem (503 stopping), or
 * breaks off their streams: the loop gives up waiting for them. */
void run_queue_abandon_turns(struct run_queue *desk);

#endif
