/* Answers requests in place of the active node: a node that is not active sends
 * them there, with the client's token, and gives the answer back as it comes. A
 * request goes at most one such way: it has Kindex-Hop then. */
#ifndef API_FORWARD_H
#define API_FORWARD_H

#include "exchange/run_queue.h"

/* The connections of one event loop to the active node. */
struct forward;

/* Once for the process, before its other threads start; the second function
 * after they have ended, even if the first was not called. False when memory
 * ran out. */
bool forward_start(void);
void forward_stop(void);

/* Makes the loop's part; its sockets become sources of the loop's epoll. NULL
 * when memory ran out. */
struct forward *forward_open(struct run_queue *queue, int epoll_fd);
/* Closes the connections. No request may be on its way. NULL is allowed. */
void forward_close(struct forward *forward);

/* Called once in each turn of the loop: sends and receives what it can without
 * waiting, and puts the tickets of requests whose answer has come into the run
 * queue. */
void forward_run(struct forward *forward);
/* Milliseconds after which forward_run must be called anyway; -1: never. */
int forward_timeout_ms(const struct forward *forward);

/* In place of the handler of the request's route. The run queue of the
 * request's exchange has a `forward`. */
handler_fn forward_handle;

enum {
    FORWARD_CONNECTIONS_MAX = 512, /* to the active node, of all loops */
    FORWARD_LASTING_MAX = 384,     /* of them for watches */
    FORWARD_REQUESTS_MAX = 4096,   /* on their way or waiting for a connection,
                                    * of all loops */
    FORWARD_CONNECT_MS = 10000,    /* to connect, with the TLS handshake */
    FORWARD_SILENCE_MS = 90000,    /* without a byte of an answer. A request may
                                    * ask to wait for 60 s (Prefer: wait), and a
                                    * watch sends something every 15 s */
    FORWARD_STOP_MS = 2000         /* for answers after this node was told to
                                    * stop */
};

#endif
