/* An accepted connection before and while HTTP/1.1 or HTTP/2 serves it: its
 * socket, its TLS, and its part in the limits on connections. The holder of the
 * struct ends it. */
#ifndef API_CONNECTION_H
#define API_CONNECTION_H

#include "exchange/address_limit.h"
#include "http/service.h"
#include "net/tls.h"

struct connection {
    struct service *service; /* once it is counted */
    int fd;                  /* connected, non-blocking */
    struct tls *tls;         /* NULL: plain */
    struct client_usage *client;
    struct sockaddr_storage peer;
    socklen_t peer_size;
};

enum connection_verdict {
    CONNECTION_ACCEPTED,
    CONNECTION_SERVER_FULL,
    CONNECTION_SHARE_USED
};

/* Counts the connection (fd and peer are set) and sets its service. A refused
 * connection is not counted, and its socket stays open. Any thread. */
enum connection_verdict connection_begin(struct service *service,
                                         struct connection *connection);
/* Takes the connection out of the counts and closes its TLS; the socket stays
 * open. Only the connection's thread, as for connection_close. */
void connection_end(struct service *service, struct connection *connection);
/* Does what connection_end does, and closes the socket. */
void connection_close(struct service *service, struct connection *connection);

/* Acknowledges the bytes that were read at once, instead of after the kernel's
 * delay of 40 ms. Call it when there is nothing to send while more of a request
 * is expected: with Nagle's algorithm the client sends that only after the
 * acknowledgement. Sent bytes carry the acknowledgement themselves. Keeps
 * errno. */
void connection_acknowledge(const struct connection *connection);

#endif
