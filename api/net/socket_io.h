/* A socket that the event loop reads and writes without waiting. Bytes that the
 * socket does not take at once are kept in `rest`. While there are any, epoll
 * does not wait for input: a client that does not read its replies cannot send
 * further requests, so `rest` stays small. The loop's thread. */
#ifndef API_SOCKET_IO_H
#define API_SOCKET_IO_H

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
    atomic_uint_fast64_t *total; /* bytes of memory in all `rest` buffers */
    struct kx_buffer rest;       /* not sent yet, from `sent` on */
    size_t counted;              /* its capacity as added to `total` */
    size_t sent;
    bool broken; /* the client is gone, or the socket failed */
};

/* Adds the source to epoll; the descriptor, `ready`, `tls`, `idle_events` and
 * `total` are set. False when the system has no memory left. owner is the
 * talloc parent of `rest`. Socket and TLS stay the caller's. */
bool socket_io_open(struct socket_io *io, int epoll_fd, void *owner);
/* Frees `rest`. The caller then closes the socket, which removes it from
 * epoll. */
void socket_io_close(struct socket_io *io);

/* Reads up to size bytes; size is at least TLS_RECORD_MAX. 0: nothing has
 * arrived, or `broken` is set. */
size_t socket_io_read(struct socket_io *io, void *out, size_t size);
/* Sends `rest` and then data; returns how many bytes were sent. Sets `broken`
 * when there is no memory for the bytes that could not be sent. */
size_t socket_io_send(struct socket_io *io, struct kx_slice data);
/* Are there bytes left to send? */
bool socket_io_blocked(const struct socket_io *io);
/* Shuts down the sending side; reading still works. */
void socket_io_finish(struct socket_io *io);

#endif
