/* An accepted connection, before and while HTTP/1.1 or HTTP/2 serves it: its
 * socket, its TLS, and its place in the limits on connections. The struct is
 * copied from owner to owner; the last owner ends it. */
#ifndef API_CONNECTION_H
#define API_CONNECTION_H

#include "exchange/charge.h"
#include "http/service.h"
#include "net/tls.h"

struct connection {
    struct service *service; /* set by connection_begin */
    int fd;                  /* connected, non-blocking */
    struct tls *tls;         /* NULL: plain */
    struct tenant *client;
    struct sockaddr_storage peer;
    socklen_t peer_size;
};

enum connection_verdict {
    CONNECTION_ACCEPTED,
    CONNECTION_SERVER_FULL,
    CONNECTION_SHARE_USED
};

/* Counts a connection whose fd and peer are set, and sets its service. Returns
 * the verdict; a refused connection is not counted, and its socket stays open.
 * Any thread. */
enum connection_verdict connection_begin(struct service *service,
                                         struct connection *connection);
/* Takes the connection out of the counts and closes its TLS; the socket stays
 * open. Only on the connection's thread. */
void connection_end(struct service *service, struct connection *connection);
/* Calls connection_end and closes the socket. Only on the connection's thread.
 */
void connection_close(struct service *service, struct connection *connection);

/* Acknowledges received bytes at once instead of after the kernel's delay of 40
 * ms. Call it when more of a request is expected and there is nothing to send:
 * a client with Nagle's algorithm sends the remainder only after the
 * acknowledgement. Bytes that are sent carry the acknowledgement anyway.
 * Preserves errno. */
void connection_acknowledge(const struct connection *connection);

#endif
