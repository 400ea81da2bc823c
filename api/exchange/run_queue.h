/* The exchanges of one event loop: free ones, those that wait for a turn, and
 * the answers that the writer thread put there for the loop. The writer thread
 * and the loop share only the list of answers, under one lock. All functions
 * belong to the loop's thread, except run_queue_put. */
#ifndef API_RUN_QUEUE_H
#define API_RUN_QUEUE_H

#include <pthread.h>
#include <sys/queue.h>

#include "exchange/timer_heap.h"
#include "exchange/turns.h"
#include "http/service.h"

struct exchange;
struct forward;
struct fiber_pool;
TAILQ_HEAD(exchanges, exchange);

/* The measured state of the disk of a data directory
 * (exchange_loop_note_reads). */
struct slow_disk {
    struct kx_disk_reads seen; /* the last sample */
    uint64_t seen_ns;          /* when the sample was taken */
    uint64_t until_ns;         /* the disk counts as slow until then */
};

struct run_queue {
    struct service *service;
    struct kx_reader
        *reader; /* reader of the loop's thread; limited to memory while
                  * workers_read. NULL: the store is not open (a standby) */
    struct fiber_pool *fibers; /* on which handlers run */
    struct forward *forward;   /* of the loop; NULL: there are no other
                                * nodes */
    unsigned number;           /* of the loop */
    int answers_fd;            /* eventfd; readable when there are answers */
    pthread_mutex_t lock;      /* guards answered */
    struct kx_ticket *answered;
    struct exchange *free;
    size_t free_count;
    struct turns turns;         /* exchanges that wait for others */
    struct client_turns others; /* of exchanges without a client */
    struct exchange_list later; /* streams that wait for memory */
    uint64_t later_ns;      /* when these join `turns`, while there are any */
    uint64_t busy_until_ns; /* answers that come later in this turn of the
                             * loop wait for another turn. UINT64_MAX before
                             * the first */
    uint64_t begin_left_ns; /* time that handlers which begin in this turn may
                             * still take. UINT64_MAX before the first */
    uint64_t slices_end_ns; /* of this turn of the loop */
    struct exchanges
        waiting; /* for a notification; the core has their request.wait */
    struct timer_heap alarms;  /* for when their waits end */
    uint64_t handled_ns;       /* alarms due by then have been handled */
    struct exchanges awaiting; /* wait for their client (charge.c) */
    uint64_t now_ns;           /* approximate time of this turn of the loop */
    bool workers_read;         /* workers do what needs a view: always in front
                                * of a database, and while the disk is slow */
    struct slow_disk disk;
    uint64_t look_ns; /* charge_end_stalled has nothing to do before */
    size_t in_flight; /* exchanges begun and not ended */
    size_t awaited;   /* exchanges in flight that wait for the core */
    bool closing;     /* nothing may be parked any longer */
};

/* Opens the loop's reader, if the store is open, and its eventfd; `number`
 * tells the loops of one service apart, from 0. False when the system has no
 * memory or descriptors left; there is nothing to close then. */
bool run_queue_open(struct run_queue *queue, struct service *service,
                    unsigned number);
/* Opens the reader of a queue that has none, as soon as the store is open:
 * requests that begin after that have it. True: it was opened now. */
bool run_queue_attach(struct run_queue *queue);
/* Frees the exchanges; none may be in flight. */
void run_queue_close(struct run_queue *queue);

/* Adds the tickets of a list (linked by next) to the answers and wakes the
 * loop. Never blocks for longer than the list takes to be linked. Any
 * thread. */
void run_queue_put(struct run_queue *queue, struct kx_ticket *first);
/* Takes all tickets that run_queue_put has added, as a list; NULL if there are
 * none. */
struct kx_ticket *run_queue_take_answers(struct run_queue *queue);

/* Begins a turn of the loop: sets now_ns, busy_until_ns and begin_left_ns. */
void run_queue_begin(struct run_queue *queue, uint64_t now_ns);
/* Puts an exchange into the queue of turns. It must be in no other list of the
 * run queue. */
void run_queue_turn(struct run_queue *queue, struct exchange *exchange);
/* True if the handler of the exchange may begin at once: handlers have not used
 * up the time of this turn of the loop, and the client does not owe time for
 * which others wait. */
bool run_queue_may_begin(struct run_queue *queue,
                         const struct exchange *exchange);
/* True if the time of this turn of the loop is used up. The caller then
 * postpones all work that can wait. */
bool run_queue_is_busy(const struct run_queue *queue, uint64_t now_ns);
/* Puts an exchange that waits for memory into the queue of turns after a delay:
 * without the delay it would keep the loop busy without work. */
void run_queue_later(struct run_queue *queue, struct exchange *exchange);
/* Begins the time for slices of this turn of the loop, and moves exchanges that
 * have waited for memory long enough to the queue of turns. Returns how many
 * are in that queue. */
size_t run_queue_begin_slices(struct run_queue *queue, uint64_t now_ns);
/* Takes an exchange that waits for its turn or for memory; NULL if no exchange
 * waits. */
struct exchange *run_queue_take_any(struct run_queue *queue);
/* True if a slice may be made at once: no other exchange waits for its turn,
 * and the time for slices is not used up. */
bool run_queue_may_slice(const struct run_queue *queue);
/* Adds or removes an exchange whose request.wait is with the core. */
void run_queue_news(struct run_queue *queue, struct exchange *exchange);
void run_queue_end_news(struct run_queue *queue, struct exchange *exchange);
/* Takes the alarm of an exchange that is due by handled_ns; NULL if none is
 * due. The exchange still waits for its notification. */
struct exchange *run_queue_take_alarm(struct run_queue *queue);
/* Milliseconds until an exchange of the queue of turns or an alarm is due; -1:
 * never. */
int run_queue_timeout_ms(const struct run_queue *queue);
/* True if any exchange waits for its turn or for memory. */
bool run_queue_has_turns(const struct run_queue *queue);

#endif
