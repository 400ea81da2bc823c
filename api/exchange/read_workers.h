/* Threads that read a store whose rows are on another machine, each with its
 * own reader and so its own connection. They run what an event loop cannot
 * without waiting: halves of handlers that need a view, and slices of streams.
 * The loops share them. Those of a data directory read by themselves, except
 * while its disk is slow (exchange_loop_begin).
 *
 * One thread more serves the routes that need no rows (node_is_local): nothing
 * that reads rows holds them up. */
#ifndef API_READ_WORKERS_H
#define API_READ_WORKERS_H

#include "exchange/exchange.h"

enum {
    /* Limits in front of a database: */
    READ_QUEUE_MAX = 1024, /* requests that wait for a worker; further ones are
                            * refused before they begin */
    READ_MS = 10000,       /* for one half or slice, from its wait for a worker
                            * on; a connection that is made by then may take the
                            * time of its own limit longer */
    READ_LOCAL_MS = 1000   /* the same for a route that needs no rows */
};

/* In front of a data directory: more would answer few more requests, and each
 * takes memory for what it reads. */
enum { DISK_READERS_MAX = 4 };

/* What a thread does with an exchange: exchange_read (exchange_half.h), as the
 * server says: this file does not call back into the exchange. */
typedef void read_workers_fn(struct exchange *exchange, bool view);

/* Starts the threads, `count` and the one more, for requests of this service.
 * NULL when memory or threads ran out. */
struct read_workers *read_workers_open(struct service *service, size_t count,
                                       read_workers_fn *read);
/* Ends the threads, before the store is closed. No exchange may be with them.
 * NULL is allowed. */
void read_workers_close(struct read_workers *workers);

/* The reads of the disk that the workers have made so far. Any thread. */
struct kx_disk_reads read_workers_reads(const struct read_workers *workers);

/* Hands an exchange over, in the order of the calls. A worker calls
 * its function and puts the exchange's ticket into its run queue. Until then
 * the exchange, without its links and what only exchange_wait.c uses, belongs
 * to that thread. False, and not taken: too many wait for a database, and this
 * one has not begun. */
bool read_workers_put(struct read_workers *workers, struct exchange *exchange);

#endif
