/* HTTP/2 by nghttp2, beside http1.h: for plain connections that begin with its
 * preface (prior knowledge) and for TLS that agreed on it. Every request of
 * every connection is an exchange like those of HTTP/1.1, so handlers and
 * limits are the same. All output of one turn of the event loop to a connection
 * is sent at once. All functions belong to the thread of that loop. */
#ifndef API_HTTP2_H
#define API_HTTP2_H

#include "exchange/run_queue.h"
#include "net/connection.h"

struct http2;

/* Without connections; exchanges come from queue, and sockets are watched in
 * epoll_fd. NULL when memory ran out. */
struct http2 *http2_open(struct run_queue *queue, int epoll_fd);
/* Closes all connections and frees http2. No exchange may be parked. */
void http2_close(struct http2 *http2);

/* Takes over a connection, also on failure, which closes it. */
void http2_add(struct http2 *http2, struct connection *accepted);
/* At the end of each turn of the loop: sends what there is to send, and closes
 * connections that have ended or were silent for too long. */
void http2_run(struct http2 *http2);
/* Milliseconds after which http2_run must be called anyway; -1: none. */
int http2_timeout_ms(const struct http2 *http2);

/* Tells every client that no further requests are taken (GOAWAY); those that
 * have begun are answered, then the connections are closed. */
void http2_stop(struct http2 *http2);
/* Is anything made but not sent? */
bool http2_unsent(const struct http2 *http2);

#endif
