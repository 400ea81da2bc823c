/* The table of sockets is an array indexed by their numbers, whose size never
 * changes. A slot belongs to the thread that owns the socket; when the number
 * comes back on another thread, its contents were published with release and
 * are read with acquire. */
#include "http1_socket.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <talloc.h>

enum { SOCKETS_MAX = 1 << 20, SCRATCH = 16 * 1024 };

struct http1_socket {
    struct framing framing;
    enum framing_fault fault;
    bool answered;
    size_t drained;
};

typedef _Atomic(struct http1_socket *) slot;

static slot *slots;
static size_t slot_count;
static struct framing_limits limits;

ssize_t __real_recv(int fd, void *buffer, size_t size, int flags);

bool http1_socket_start(const struct framing_limits *framing_limits)
{
    struct rlimit files;
    slot_count = SOCKETS_MAX;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < SOCKETS_MAX)
        slot_count = files.rlim_cur;
    limits = *framing_limits;
    slots = calloc(slot_count, sizeof *slots);
    return slots != NULL;
}

void http1_socket_stop(void)
{
    for (size_t i = 0; slots != NULL && i < slot_count; i++)
        talloc_free(atomic_load(&slots[i]));
    free(slots);
    slots = NULL;
}

static slot *find(int fd)
{
    return slots != NULL && fd >= 0 && (size_t)fd < slot_count ? &slots[fd]
                                                               : NULL;
}

bool http1_socket_open(int fd)
{
    slot *place = find(fd);
    if (place == NULL)
        return false;
    struct http1_socket *socket = atomic_load(place);
    if (socket == NULL)
        socket = talloc(NULL, struct http1_socket);
    if (socket == NULL)
        return false;
    *socket = (struct http1_socket){.fault = FRAMING_NO_FAULT};
    framing_init(&socket->framing, &limits);
    atomic_store_explicit(place, socket, memory_order_release);
    return true;
}

void http1_socket_close(int fd)
{
    slot *place = find(fd);
    if (place != NULL)
        talloc_free(atomic_exchange(place, NULL));
}

static void answer(int fd, enum framing_fault fault)
{
    char text[FRAMING_ANSWER_MAX];
    size_t size = framing_answer(fault, text, sizeof text);
    send(fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(fd, SHUT_WR);
}

/* Closing with unread input, or before the rest of it arrives, would reset the
 * connection, and the client might never read the answer. */
static ssize_t turn_away(struct http1_socket *socket, int fd)
{
    char scratch[SCRATCH];
    ssize_t got;
    if (!socket->answered)
        answer(fd, socket->fault);
    socket->answered = true;
    do {
        got = __real_recv(fd, scratch, sizeof scratch, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN)
            return -1;
        socket->drained += got > 0 ? (size_t)got : 0;
    } while (got > 0 && socket->drained <= HTTP1_SOCKET_DRAIN_MAX);
    errno = ECONNRESET;
    return -1;
}

ssize_t __wrap_recv(int fd, void *buffer, size_t size, int flags)
{
    const slot *place = find(fd);
    struct http1_socket *socket =
        place != NULL ? atomic_load_explicit(place, memory_order_acquire)
                      : NULL;
    if (socket == NULL || (flags & MSG_PEEK) != 0)
        return __real_recv(fd, buffer, size, flags);
    if (socket->fault != FRAMING_NO_FAULT)
        return turn_away(socket, fd);
    ssize_t got = __real_recv(fd, buffer, size, flags);
    if (got <= 0)
        return got;
    size_t good =
        framing_feed(&socket->framing, buffer, (size_t)got, &socket->fault);
    if (socket->fault == FRAMING_NO_FAULT)
        return got;
    if (good == 0)
        return turn_away(socket, fd);
    /* The library takes a short read for an empty socket and waits for an edge
     * of its epoll set: this is one. It calls again when the answers to the
     * good requests are sent. */
    shutdown(fd, SHUT_RD);
    return (ssize_t)good;
}
