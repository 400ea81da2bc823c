/* Threads that do for the event loops what would keep a loop from its other
 * requests: the work of requests with large bodies (reading megabytes takes
 * tens of milliseconds), and reads of rows that are on another machine or on a
 * slow disk (exchange_loop_begin). Each kind has its own queue and threads, so
 * that none holds up another; the loops share them.
 *
 * One more thread serves the routes that need no rows (node_is_local), so that
 * requests which read rows do not delay them. A thread that reads has its own
 * reader, and so its own connection to a database. */
#ifndef API_WORKERS_H
#define API_WORKERS_H

#include "exchange/exchange.h"

enum {
    BODY_ON_LOOP_MAX = 64 * 1024, /* bytes of a body with which the loop's
                                   * thread does the work itself */
    /* Limits in front of a database: */
    READ_QUEUE_MAX = 1024, /* requests that wait for a worker; further ones are
                            * refused before they begin */
    READ_MS = 10000, /* limit for one section or slice, including its wait for a
                      * worker. A connection that is being made when it expires
                      * may take its own limit in addition */
    READ_LOCAL_MS = 1000 /* the same for a route that needs no rows */
};
_Static_assert((int)BODY_KEYS_MAX <= (int)BODY_ON_LOOP_MAX,
               "the work of routes of BODY_KEYS is small (request.h)");

/* Number of readers for a data directory. More readers would answer few more
 * requests, and each needs memory for the rows that it reads. */
enum { DISK_READERS_MAX = 4 };

/* The function that a thread runs for an exchange: exchange_call_serve. The
 * server passes it, so that this file need not call back into the exchange. */
typedef void workers_fn(struct exchange *exchange, bool view);

/* Starts the threads for requests of this service: `work` of them for work, and
 * `reads` for reads, and one more for routes that need no rows. If `reads` is
 * 0, no thread reads. NULL when memory or threads ran out. */
struct workers *workers_open(struct service *service, size_t work, size_t reads,
                             workers_fn *serve);
/* Ends the threads, before the store is closed. No exchange may be with them.
 * NULL is allowed. */
void workers_close(struct workers *workers);
/* True if there are threads that read; false if workers is NULL. */
bool workers_can_read(const struct workers *workers);

/* The reads of the disk that the workers have made so far. Any thread. */
struct kx_disk_reads workers_disk_reads(const struct workers *workers);

/* Hands an exchange over, in the order of the calls. A worker calls its
 * function and puts the exchange's ticket into its run queue. Until then the
 * exchange, without its links and what only exchange_wait.c uses, belongs to
 * that thread.
 *
 * For work, without a reader. */
void workers_put_work(struct workers *workers, struct exchange *exchange);
/* Passes an exchange to a reader. False if too many exchanges wait for a
 * database and this exchange has not begun. */
bool workers_put_read(struct workers *workers, struct exchange *exchange);

#endif
