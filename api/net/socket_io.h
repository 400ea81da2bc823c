/* A socket that the loop itself reads and writes: reads without waiting, and
 * sends without waiting what can be sent. What the client does not take at once
 * is kept, and while there is such a rest nothing more is read from it: who
 * does not read gets no further requests in, so the rest stays small. */
#ifndef API_WIRE_H
#define API_WIRE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "kindex.h"
#include "net/event_source.h"
#include "net/tls.h"

struct socket_io {
    struct event_source source; /* of the loop's epoll; `ready` is called for
                                 * both directions */
    struct tls *tls;            /* NULL: plain */
    int epoll_fd;
    uint32_t idle_events; /* EPOLLIN, or 0: nothing is read */
    uint32_t events;      /* that epoll waits for, beside the socket's end */
    atomic_uint_fast64_t *total; /* bytes of memory for the rests of all */
    struct kx_buffer rest;       /* not sent yet, from `sent` on */
    size_t counted;              /* of it in `total` */
    size_t sent;
    bool broken; /* the client is gone, or the socket failed */
};

/* Watches the source (the descriptor, `ready`, `tls`, `idle_events` and `total`
 * are set); false when the system has no memory left. owner is the talloc
 * parent of what is kept. Socket and TLS stay the caller's. */
bool socket_io_open(struct socket_io *wire, int epoll_fd, void *owner);
/* Frees what is kept; the socket is closed next, which ends the watch. */
void socket_io_close(struct socket_io *wire);

/* Reads up to size bytes, at least TLS_RECORD_MAX. 0: there are none now, or
 * the wire is broken. */
size_t socket_io_read(struct socket_io *wire, void *out, size_t size);
/* Sends data after the rest; returns how many bytes left. The wire is broken
 * when memory ran out for what could not be sent. */
size_t socket_io_send(struct socket_io *wire, struct kx_slice data);
/* Is there a rest? */
bool socket_io_blocked(const struct socket_io *wire);
/* No more will be sent; the client may still be read. */
void socket_io_finish(struct socket_io *wire);

#endif
