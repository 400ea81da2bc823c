/* A thread beside an event loop, on which the first half of a request with a
 * large body runs: reading megabytes takes tens of milliseconds, for which all
 * other requests of the loop would wait. */
#ifndef API_BODY_WORKER_H
#define API_BODY_WORKER_H

#include "exchange/exchange.h"

enum {
    BODY_ON_LOOP_MAX = 64 * 1024 /* bytes of a body that is read on the loop's
                                  * thread */
};
_Static_assert((int)BODY_KEYS_MAX <= (int)BODY_ON_LOOP_MAX,
               "routes of BODY_KEYS never come here (request.h)");

/* Starts the thread. NULL when memory or threads ran out. */
struct body_worker *body_worker_open(void);
/* Ends the thread. No exchange may be with it. NULL is allowed. */
void body_worker_close(struct body_worker *worker);

/* Hands an exchange over, in the order of the calls. The thread calls its
 * route's handler, sets exchange->progress to what that returned, and puts the
 * exchange's ticket into its run queue. Until then the exchange, without its
 * links and client_gone, belongs to this thread. */
void body_worker_put(struct body_worker *worker, struct exchange *exchange);

#endif
