/* HTTP/1.1 by libmicrohttpd, in its external polling mode: an event loop owns
 * it and calls it. It turns what comes over connections into exchanges and
 * sends their replies, as http2.h does. Connections come from listener.c, their
 * bytes pass through mhd_socket.c. All functions belong to the thread of that
 * loop. */
#ifndef API_HTTP1_H
#define API_HTTP1_H

#include "http1/http1_stream.h"
#include "net/connection.h"

struct http1;

/* A server without sockets whose exchanges come from queue; replies that may
 * last continue in streams. NULL when it cannot be started. */
struct http1 *http1_open(struct run_queue *queue,
                         struct http1_streams *streams);
/* Closes all connections and frees the server. No exchange may be parked. */
void http1_close(struct http1 *http1);

/* Becomes readable when http1_run has something to do. */
int http1_descriptor(const struct http1 *http1);
/* Milliseconds after which http1_run must be called anyway, for the idle
 * timeout of its connections; -1: none. */
int http1_timeout_ms(const struct http1 *http1);
/* Takes over a connection, also on failure, which closes it. */
void http1_add(struct http1 *http1, struct connection *accepted);
/* Does all that can be done without waiting: reads, runs handlers, writes, and
 * closes. Also needed after `ready` was called for an exchange. */
void http1_run(struct http1 *http1);

#endif
