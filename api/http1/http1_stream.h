/* HTTP/1.1 replies that may last for hours: watches. Thousands of them may wait
 * at the same time. In the library each would keep its connection's memory, and
 * the library would visit them all whenever a parked request continues. So the
 * library releases the connection when such a reply begins, and this module
 * sends the reply until it or the connection ends. All functions belong to the
 * thread of the loop. */
#ifndef API_HTTP1_STREAM_H
#define API_HTTP1_STREAM_H

#include "exchange/exchange.h"

struct http1_streams;

/* Creates an empty set of streams whose sockets are watched in epoll_fd. NULL
 * if memory ran out. */
struct http1_streams *http1_streams_open(struct run_queue *queue, int epoll_fd);
/* Closes all connections and frees the streams. NULL is allowed. */
void http1_streams_close(struct http1_streams *all);

/* True if the exchange has a reply that may last for hours. */
bool http1_stream_lasts(const struct exchange *exchange);

/* Takes over an exchange with such a reply, and socket fd as soon as the
 * library closes it; the caller must make the library close it. `chunked` is
 * true for HTTP/1.1; an HTTP/1.0 reply lasts until the connection ends. Returns
 * false, with nothing changed, if memory ran out. */
bool http1_streams_adopt(struct http1_streams *all, struct exchange *exchange,
                         int fd, bool chunked);

/* Sends available output, and closes streams that have ended or whose client
 * has read nothing for too long. Call it at the end of each turn of the loop.
 */
void http1_streams_run(struct http1_streams *all);
/* Milliseconds after which http1_streams_run must be called anyway; -1:
 * none. */
int http1_streams_timeout_ms(const struct http1_streams *all);

#endif
