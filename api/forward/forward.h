/* A standby forwards a request to the active node, with the client's token, and
 * passes the answer on as it arrives. A forwarded request has the header
 * Kindex-Hop and is not forwarded again. */
#ifndef API_FORWARD_H
#define API_FORWARD_H

#include "exchange/run_queue.h"

/* The connections of one event loop to the active node. */
struct forward;

/* Initializes libcurl, once for the process, before other threads start.
 * Returns false if memory ran out. forward_stop is called after the threads
 * have ended, even if forward_start was not. */
bool forward_start(void);
void forward_stop(void);

/* Makes the connections of a loop; their sockets become sources of its epoll.
 * Returns NULL if memory ran out. */
struct forward *forward_open(struct run_queue *queue, int epoll_fd);
/* Closes the connections. No request may be in flight. NULL is allowed. */
void forward_close(struct forward *forward);

/* Sends and receives without waiting, and puts the tickets of answered requests
 * into the run queue. Call it once in each turn of the loop. */
void forward_run(struct forward *forward);
/* Returns the milliseconds after which forward_run must be called again; -1: no
 * need. */
int forward_timeout_ms(const struct forward *forward);

/* Runs in place of the route's handler. The run queue of the request's exchange
 * has a `forward`. */
handler_fn forward_handle;

enum {
    FORWARD_CONNECTIONS_MAX = 512, /* to the active node, of all loops */
    FORWARD_LASTING_MAX = 384,     /* watches, of all loops */
    FORWARD_REQUESTS_MAX = 4096,   /* in flight or waiting for a connection, of
                                    * all loops */
    FORWARD_CONNECT_MS = 10000,    /* to connect, with the TLS handshake */
    FORWARD_SILENCE_MS = 90000,    /* without a byte of an answer. A request may
                                    * ask to wait for 60 s (Prefer: wait), and a
                                    * watch sends something every 15 s */
    FORWARD_STOP_MS =
        2000 /* limit for answers after this node begins to stop */
};

#endif
