/* A connection that was accepted, on its way to its door: its socket, its TLS,
 * and the place that it takes up. Whoever has the visit ends it. */
#ifndef API_VISIT_H
#define API_VISIT_H

#include "net/guests.h"
#include "http/service.h"
#include "net/tls.h"

struct visit {
    struct service *service; /* once it is counted */
    int fd;                  /* connected, non-blocking */
    struct tls *tls;         /* NULL: plain */
    struct guest *guest;
    struct sockaddr_storage peer;
    socklen_t peer_size;
};

enum visit_verdict { VISIT_WELCOME, VISIT_HOUSE_FULL, VISIT_SHARE_USED };

/* Counts the visit (fd and peer are set) and sets its service. When it is not
 * welcome it is not counted, and its socket still open. Any thread. */
enum visit_verdict visit_begin(struct service *service, struct visit *visit);
/* Counts it no more and forgets its TLS; the socket stays open. Only the
 * visit's thread, as for visit_close. */
void visit_end(struct service *service, struct visit *visit);
/* The same, and closes the socket. */
void visit_close(struct service *service, struct visit *visit);

/* Acknowledges what was read, at once and not after the kernel's 40 ms. For a
 * turn that has nothing to send while more of a request is to come: with
 * Nagle's algorithm the client sends it after the acknowledgement. A turn that
 * sends needs no such call, as its bytes carry the acknowledgement. Leaves
 * errno as it is. */
void visit_acknowledge(const struct visit *visit);

#endif
