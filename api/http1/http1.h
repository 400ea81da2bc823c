/* HTTP/1.1 by libmicrohttpd in its external polling mode: an event loop owns
 * and runs it. Requests become exchanges whose replies are sent, as in http2.h.
 * Connections come from listener.c; their bytes pass through mhd_socket.c. All
 * functions belong to the thread of the loop. */
#ifndef API_HTTP1_H
#define API_HTTP1_H

#include "http1/http1_stream.h"
#include "net/connection.h"

struct http1;

/* Starts a server without connections. Its exchanges come from `queue`; replies
 * that may last for hours continue in `streams`. NULL if it cannot be started.
 * Free it with http1_close. */
struct http1 *http1_open(struct run_queue *queue,
                         struct http1_streams *streams);
/* Closes all connections and frees the server. No exchange may be parked. */
void http1_close(struct http1 *http1);

/* Returns a descriptor that becomes readable when http1_run has something to
 * do. */
int http1_descriptor(const struct http1 *http1);
/* Milliseconds after which http1_run must be called anyway, for the idle
 * timeout of its connections; -1: none. */
int http1_timeout_ms(const struct http1 *http1);
/* Takes over a connection. On failure it closes the connection. */
void http1_add(struct http1 *http1, struct connection *accepted);
/* Reads, runs handlers, writes and closes, as far as possible without blocking.
 * Call it also after `ready` was called for an exchange. */
void http1_run(struct http1 *http1);

#endif
