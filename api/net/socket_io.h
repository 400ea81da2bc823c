/* A socket that the event loop reads and writes without blocking. Bytes that
 * the socket does not accept at once are kept in `rest`. While `rest` has
 * bytes, epoll does not wait for input: a client that does not read its replies
 * cannot send further requests, so `rest` stays small. All functions belong to
 * the loop's thread. */
#ifndef API_SOCKET_IO_H
#define API_SOCKET_IO_H

#include <stdatomic.h>
#include <sys/types.h>

#include "kindex.h"
#include "net/event_source.h"
#include "net/tls.h"

struct socket_io {
    struct event_source source; /* watched by the loop; `ready` is called for
                                 * both directions */
    struct tls *tls;            /* NULL: plain */
    int epoll_fd;
    uint32_t idle_events; /* EPOLLIN, or 0 if nothing is read */
    uint32_t events;      /* what epoll waits for, besides the end of the socket
                           */
    atomic_uint_fast64_t *total; /* bytes of memory in all `rest` buffers */
    struct kx_buffer rest;       /* unsent bytes, from `sent` on */
    size_t counted;              /* capacity of `rest` that is included in
                                  * `total` */
    size_t sent;
    bool broken; /* the client is gone, or the socket failed */
};

/* Adds the source to epoll. The caller has set the descriptor, `ready`, `tls`,
 * `idle_events` and `total`, and still owns socket and TLS. owner is the talloc
 * parent of `rest`. False if the system is out of memory. */
bool socket_io_open(struct socket_io *io, int epoll_fd, void *owner);
/* Frees `rest`. The caller then closes the socket, which removes it from
 * epoll. */
void socket_io_close(struct socket_io *io);

/* Reads at most size bytes; size must be at least TLS_RECORD_MAX. Returns 0 if
 * nothing has arrived, or if `broken` is now set. */
size_t socket_io_read(struct socket_io *io, void *out, size_t size);
/* Sends `rest` and then data, and keeps in `rest` what the socket does not
 * accept. Returns the number of bytes sent. Sets `broken` if the socket failed
 * or there is no memory for the remainder. */
size_t socket_io_send(struct socket_io *io, struct kx_slice data);
/* True if there are bytes left to send. */
bool socket_io_blocked(const struct socket_io *io);
/* Shuts down the sending side; reading still works. */
void socket_io_finish(struct socket_io *io);

#endif
