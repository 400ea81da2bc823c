/* A connection that was accepted, on its way to its door: its socket, its TLS,
 * and the place that it takes up. Whoever has the visit ends it. */
#ifndef API_VISIT_H
#define API_VISIT_H

#include "net/address_limit.h"
#include "http/service.h"
#include "net/tls.h"

struct connection {
    struct service *service; /* once it is counted */
    int fd;                  /* connected, non-blocking */
    struct tls *tls;         /* NULL: plain */
    struct guest *guest;
    struct sockaddr_storage peer;
    socklen_t peer_size;
};

enum connection_verdict {
    CONNECTION_ACCEPTED,
    CONNECTION_SERVER_FULL,
    CONNECTION_SHARE_USED
};

/* Counts the visit (fd and peer are set) and sets its service. When it is not
 * welcome it is not counted, and its socket still open. Any thread. */
enum connection_verdict connection_begin(struct service *service,
                                         struct connection *visit);
/* Counts it no more and forgets its TLS; the socket stays open. Only the
 * visit's thread, as for connection_close. */
void connection_end(struct service *service, struct connection *visit);
/* The same, and closes the socket. */
void connection_close(struct service *service, struct connection *visit);

/* Acknowledges what was read, at once and not after the kernel's 40 ms. For a
 * turn that has nothing to send while more of a request is to come: with
 * Nagle's algorithm the client sends it after the acknowledgement. A turn that
 * sends needs no such call, as its bytes carry the acknowledgement. Leaves
 * errno as it is. */
void connection_acknowledge(const struct connection *visit);

#endif
