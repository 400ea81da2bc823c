/* Reads and writes a socket, with or without TLS. It reads by read(2), because
 * mhd_socket.h wraps recv(2) for HTTP/1.1. */
#include "net/socket_io.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

bool socket_io_open(struct socket_io *io, int epoll_fd, void *owner)
{
    struct epoll_event event = {.events = io->idle_events, .data.ptr = io};
    io->epoll_fd = epoll_fd;
    io->events = io->idle_events;
    io->sent = 0;
    io->broken = false;
    io->counted = 0;
    kx_buffer_init(&io->rest, owner);
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, io->source.fd, &event) == 0;
}

static void count(struct socket_io *io)
{
    if (io->rest.capacity != io->counted)
        atomic_fetch_add_explicit(io->total, io->rest.capacity - io->counted,
                                  memory_order_relaxed);
    io->counted = io->rest.capacity;
}

void socket_io_close(struct socket_io *io)
{
    kx_buffer_free(&io->rest);
    count(io);
}

bool socket_io_blocked(const struct socket_io *io)
{
    return io->sent < io->rest.size;
}

/* Waits until the socket can be written while bytes are left to send, otherwise
 * for the idle events. */
static void watch(struct socket_io *io)
{
    uint32_t events = socket_io_blocked(io) ? EPOLLOUT : io->idle_events;
    struct epoll_event event = {.events = events, .data.ptr = io};
    if (events == io->events)
        return;
    io->events = events;
    if (epoll_ctl(io->epoll_fd, EPOLL_CTL_MOD, io->source.fd, &event) != 0)
        io->broken = true;
}

size_t socket_io_read(struct socket_io *io, void *out, size_t size)
{
    ssize_t got;
    do
        got = io->tls != NULL ? tls_recv_records(io->tls, out, size)
                              : read(io->source.fd, out, size);
    while (got < 0 && errno == EINTR);
    if (got == 0 || (got < 0 && errno != EAGAIN))
        io->broken = true;
    return got > 0 ? (size_t)got : 0;
}

/* Sends what the socket takes without waiting; returns the bytes sent. */
static size_t send_now(struct socket_io *io, const uint8_t *data, size_t size)
{
    const struct iovec part = {.iov_base = (void *)data, .iov_len = size};
    ssize_t sent = 0;
    if (size == 0 || io->broken)
        return 0;
    do
        sent = io->tls != NULL ? tls_send(io->tls, &part, 1)
                               : send(io->source.fd, data, size, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EAGAIN)
        io->broken = true;
    return sent > 0 ? (size_t)sent : 0;
}

/* Sends bytes left over from earlier calls. Once all are sent their memory is
 * freed: most connections never have any. */
static size_t send_rest(struct socket_io *io)
{
    size_t left = io->rest.size - io->sent;
    size_t sent = send_now(io, io->rest.data + io->sent, left);
    io->sent += sent;
    if (!socket_io_blocked(io)) {
        kx_buffer_free(&io->rest);
        io->sent = 0;
    }
    return sent;
}

size_t socket_io_send(struct socket_io *io, struct kx_slice data)
{
    size_t total = socket_io_blocked(io) ? send_rest(io) : 0;
    if (!socket_io_blocked(io)) {
        size_t sent = send_now(io, data.data, data.size);
        total += sent;
        data = kx_slice(data.data + sent, data.size - sent);
    }
    kx_add_slice(&io->rest, data);
    count(io);
    if (io->rest.failed)
        io->broken = true;
    watch(io);
    return total;
}

void socket_io_finish(struct socket_io *io)
{
    if (io->tls != NULL)
        tls_finish(io->tls);
    shutdown(io->source.fd, SHUT_WR);
}
