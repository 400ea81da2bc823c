/* One event loop: a thread, its listening sockets, its exchanges and its doors.
 * When told to stop it accepts no further connections, finishes the requests in
 * flight, and breaks off requests that take too long. Loops share the store and
 * the counters (service.h) and nothing else: a connection stays with the loop
 * that accepted it. */
#ifndef API_LOOP_H
#define API_LOOP_H

#include "server/listen_sockets.h"
#include "http/service.h"

struct loop;

/* Makes a loop that serves the listening sockets, and starts its thread. Takes
 * them over, also on failure: NULL when the system has no resources left. */
struct loop *loop_start(struct service *service, unsigned number,
                        const struct socket_set *sockets);
/* Asks the loop to end. Any thread. */
void loop_stop(struct loop *loop);
/* Waits until the loop has ended, and frees it. NULL is allowed. Main thread.
 */
void loop_join(struct loop *loop);

/* The core's answer function: hands each ticket to the loop of its exchange.
 * context is not used. The writer thread; no loop may end before its tickets
 * are answered. */
void loops_answer(void *context, struct kx_ticket *first);

#endif
