/* HTTP/2 by nghttp2: for plain connections that begin with the preface of
 * HTTP/2 (prior knowledge) and for TLS connections that negotiated it. Each
 * request is an exchange as over HTTP/1.1, so handlers and limits are the same.
 * All output of a connection in one turn of the event loop is sent at once. All
 * functions belong to the thread of the loop. */
#ifndef API_HTTP2_H
#define API_HTTP2_H

#include "exchange/run_queue.h"
#include "net/connection.h"

struct http2;

/* Creates the server without connections. Its exchanges come from `queue`, its
 * sockets are watched in epoll_fd. NULL if memory ran out. Free it with
 * http2_close. */
struct http2 *http2_open(struct run_queue *queue, int epoll_fd);
/* Closes all connections and frees http2. No exchange may be parked. */
void http2_close(struct http2 *http2);

/* Takes over a connection. On failure it closes the connection. */
void http2_add(struct http2 *http2, struct connection *accepted);
/* Sends all output, and closes connections that have ended or were silent for
 * too long. Call it at the end of each turn of the loop. */
void http2_run(struct http2 *http2);
/* Milliseconds after which http2_run must be called anyway; -1: none. */
int http2_timeout_ms(const struct http2 *http2);

/* Tells every client that no further requests are accepted (GOAWAY). Requests
 * that have begun are answered, then the connections are closed. */
void http2_stop(struct http2 *http2);
/* True if some output has not been sent. */
bool http2_unsent(const struct http2 *http2);

#endif
