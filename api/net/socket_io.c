/* Reads and writes a socket, with or without TLS. It reads by read(2), because
 * mhd_socket.h wraps recv(2) for HTTP/1.1. */
#include "net/socket_io.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

bool socket_io_open(struct socket_io *wire, int epoll_fd, void *owner)
{
    struct epoll_event event = {.events = wire->idle_events, .data.ptr = wire};
    wire->epoll_fd = epoll_fd;
    wire->events = wire->idle_events;
    wire->sent = 0;
    wire->broken = false;
    wire->counted = 0;
    kx_buffer_init(&wire->rest, owner);
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, wire->source.fd, &event) == 0;
}

static void count(struct socket_io *wire)
{
    if (wire->rest.capacity != wire->counted)
        atomic_fetch_add_explicit(wire->total,
                                  wire->rest.capacity - wire->counted,
                                  memory_order_relaxed);
    wire->counted = wire->rest.capacity;
}

void socket_io_close(struct socket_io *wire)
{
    kx_buffer_free(&wire->rest);
    count(wire);
}

bool socket_io_blocked(const struct socket_io *wire)
{
    return wire->sent < wire->rest.size;
}

/* Waits until the socket can be written while bytes are left to send, otherwise
 * for the idle events. */
static void watch(struct socket_io *wire)
{
    uint32_t events = socket_io_blocked(wire) ? EPOLLOUT : wire->idle_events;
    struct epoll_event event = {.events = events, .data.ptr = wire};
    if (events == wire->events)
        return;
    wire->events = events;
    if (epoll_ctl(wire->epoll_fd, EPOLL_CTL_MOD, wire->source.fd, &event) != 0)
        wire->broken = true;
}

size_t socket_io_read(struct socket_io *wire, void *out, size_t size)
{
    ssize_t got;
    do
        got = wire->tls != NULL ? tls_recv_records(wire->tls, out, size)
                                : read(wire->source.fd, out, size);
    while (got < 0 && errno == EINTR);
    if (got == 0 || (got < 0 && errno != EAGAIN))
        wire->broken = true;
    return got > 0 ? (size_t)got : 0;
}

/* Sends what the socket takes without waiting; returns the bytes sent. */
static size_t send_now(struct socket_io *wire, const uint8_t *data, size_t size)
{
    const struct iovec part = {.iov_base = (void *)data, .iov_len = size};
    ssize_t sent = 0;
    if (size == 0 || wire->broken)
        return 0;
    do
        sent = wire->tls != NULL
                   ? tls_send(wire->tls, &part, 1)
                   : send(wire->source.fd, data, size, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EAGAIN)
        wire->broken = true;
    return sent > 0 ? (size_t)sent : 0;
}

/* Sends bytes left over from earlier calls. Once all are sent their memory is
 * freed: most connections never have any. */
static size_t send_rest(struct socket_io *wire)
{
    size_t left = wire->rest.size - wire->sent;
    size_t sent = send_now(wire, wire->rest.data + wire->sent, left);
    wire->sent += sent;
    if (!socket_io_blocked(wire)) {
        kx_buffer_free(&wire->rest);
        wire->sent = 0;
    }
    return sent;
}

size_t socket_io_send(struct socket_io *wire, struct kx_slice data)
{
    size_t total = socket_io_blocked(wire) ? send_rest(wire) : 0;
    if (!socket_io_blocked(wire)) {
        size_t sent = send_now(wire, data.data, data.size);
        total += sent;
        data = kx_slice(data.data + sent, data.size - sent);
    }
    kx_add_slice(&wire->rest, data);
    count(wire);
    if (wire->rest.failed)
        wire->broken = true;
    watch(wire);
    return total;
}

void socket_io_finish(struct socket_io *wire)
{
    if (wire->tls != NULL)
        tls_finish(wire->tls);
    shutdown(wire->source.fd, SHUT_WR);
}
