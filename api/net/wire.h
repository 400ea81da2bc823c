/* A socket that the loop itself reads and writes: reads without waiting, and
 * sends without waiting what can be sent. What the client does not take at once
 * is kept, and while there is such a rest nothing more is read from it: who
 * does not read gets no further requests in, so the rest stays small. */
#ifndef API_WIRE_H
#define API_WIRE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "kindex.h"
#include "net/source.h"
#include "net/tls.h"

struct wire {
    struct source source; /* of the loop's epoll; `ready` is called for both
                           * directions */
    struct tls *tls;      /* NULL: plain */
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
bool wire_open(struct wire *wire, int epoll_fd, void *owner);
/* Frees what is kept; the socket is closed next, which ends the watch. */
void wire_close(struct wire *wire);

/* Reads up to size bytes, at least TLS_RECORD_MAX. 0: there are none now, or
 * the wire is broken. */
size_t wire_read(struct wire *wire, void *out, size_t size);
/* Sends data after the rest; returns how many bytes left. The wire is broken
 * when memory ran out for what could not be sent. */
size_t wire_send(struct wire *wire, struct kx_slice data);
/* Is there a rest? */
bool wire_blocked(const struct wire *wire);
/* No more will be sent; the client may still be read. */
void wire_finish(struct wire *wire);

#endif
