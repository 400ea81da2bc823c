/* Replies over HTTP/1.1 that may last for hours: watches. Thousands of them
 * wait at a time. In the library each would keep the memory of its connection,
 * and all would be looked at whenever a parked request continues. So the
 * library releases the connection when such a reply begins, and the reply is
 * sent from here until it or the connection ends. All functions belong to the
 * thread of the loop. */
#ifndef API_HTTP1_STREAM_H
#define API_HTTP1_STREAM_H

#include "exchange/exchange.h"

struct http1_streams;

/* None as yet, for sockets that are watched in epoll_fd; NULL when memory ran
 * out. */
struct http1_streams *http1_streams_open(struct run_queue *queue, int epoll_fd);
/* Closes all connections and frees the streams. NULL is allowed. */
void http1_streams_close(struct http1_streams *all);

/* Returns whether this reply is one that may last. */
bool http1_stream_lasts(const struct exchange *exchange);

/* Takes over an exchange with such a reply, and the socket fd with it as soon
 * as the library closes that, which the caller must bring about. chunked: as
 * HTTP/1.1 has it; before, a stream was what comes until the connection ends.
 * False when memory ran out, and nothing has changed. */
bool http1_streams_adopt(struct http1_streams *all, struct exchange *exchange,
                         int fd, bool chunked);

/* At the end of each turn of the loop: sends what there is to send, and closes
 * streams that have ended or whose client has taken nothing for too long. */
void http1_streams_run(struct http1_streams *all);
/* Milliseconds after which http1_streams_run must be called anyway; -1:
 * none. */
int http1_streams_timeout_ms(const struct http1_streams *all);

#endif
