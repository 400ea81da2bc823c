/* The table of sockets is an array of constant size, indexed by descriptor. A
 * slot belongs to the thread that owns the socket. If another thread gets the
 * same number later, it reads the slot with acquire, after the previous owner's
 * release.
 *
 * A fault is found while reading, but must be answered after the valid requests
 * that arrived before it. Two counts show when that is: requests that framing
 * saw complete, and requests that the library has answered. */
#include "http1/mhd_socket.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <talloc.h>

#include "http1/http1_deadline.h"
#include "exchange/request_log.h"

enum { SOCKETS_MAX = 1 << 20, SCRATCH = 16 * 1024 };

/* The state of one connection, from mhd_socket_open to mhd_socket_close. */
struct mhd_socket {
    struct http1_deadline deadline; /* first: mhd_socket_handle_due converts it
                                     * to the socket */
    struct framing framing;
    enum framing_fault fault;
    bool turned_away;
    bool ended;  /* the client sends nothing further, but may wait for answers
                  */
    bool looked; /* has_ended has already been checked */
    struct connection connection;
    uint64_t answered; /* requests answered by the library */
    uint64_t sent;     /* bytes sent */
    size_t drained;
    struct kx_slice lines;   /* left to send in the current reply's head */
    http1_take_fn *take;     /* NULL: the socket is not to be transferred */
    void *receiver;          /* for take */
    struct mhd_socket *next; /* link in due_sockets */
};

/* Sockets whose fault became due since the last mhd_socket_handle_due. */
static _Thread_local struct mhd_socket *due_sockets;

typedef _Atomic(struct mhd_socket *) slot;

static slot *slots;
static size_t slot_count;
static struct framing_limits limits;

ssize_t __real_recv(int fd, void *buffer, size_t size, int flags);
ssize_t __real_send(int fd, const void *data, size_t size, int flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
int __real_shutdown(int fd, int how);
int __real_close(int fd);

bool mhd_socket_start(const struct mhd_socket_limits *all)
{
    struct rlimit files;
    slot_count = SOCKETS_MAX;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < SOCKETS_MAX)
        slot_count = files.rlim_cur;
    limits = all->framing;
    http1_deadline_start(all->header_timeout_ms, all->body_timeout_ms);
    slots = calloc(slot_count, sizeof *slots);
    return slots != NULL;
}

void mhd_socket_stop(void)
{
    for (size_t i = 0; slots != NULL && i < slot_count; i++)
        talloc_free(atomic_load(&slots[i]));
    free(slots);
    slots = NULL;
}

/* NULL for descriptors beyond the table, which mhd_socket_open refuses. */
static slot *find(int fd)
{
    return slots != NULL && fd >= 0 && (size_t)fd < slot_count ? &slots[fd]
                                                               : NULL;
}

static struct mhd_socket *registered(int fd)
{
    slot *place = find(fd);
    return place != NULL ? atomic_load_explicit(place, memory_order_acquire)
                         : NULL;
}

bool mhd_socket_open(const struct connection *connection)
{
    slot *place = find(connection->fd);
    struct mhd_socket *socket =
        place != NULL ? talloc(NULL, struct mhd_socket) : NULL;
    if (socket == NULL)
        return false;
    *socket = (struct mhd_socket){.connection = *connection};
    framing_init(&socket->framing, &limits);
    atomic_store_explicit(place, socket, memory_order_release);
    return true;
}

static void forget(struct mhd_socket *socket)
{
    struct mhd_socket **link = &due_sockets;
    while (*link != NULL && *link != socket)
        link = &(*link)->next;
    if (*link == socket)
        *link = socket->next;
    http1_deadline_set(&socket->deadline, HTTP1_NOTHING);
    atomic_store(&slots[socket->connection.fd], NULL);
    talloc_free(socket);
}

bool mhd_socket_close(int fd, struct connection *connection_out)
{
    struct mhd_socket *socket = registered(fd);
    if (socket == NULL || socket->take != NULL)
        return false;
    *connection_out = socket->connection;
    forget(socket);
    return true;
}

void mhd_socket_transfer(int fd, http1_take_fn *take, void *receiver)
{
    struct mhd_socket *socket = registered(fd);
    socket->take = take;
    socket->receiver = receiver;
}

/* ---- Bytes -------------------------------------------------------------- */

static ssize_t receive(struct mhd_socket *socket, void *buffer, size_t size,
                       int flags)
{
    if (socket->connection.tls != NULL)
        return tls_recv(socket->connection.tls, buffer, size);
    return __real_recv(socket->connection.fd, buffer, size, flags);
}

/* The TLS of a registered socket, or NULL. */
static struct tls *tls_of(const struct mhd_socket *socket)
{
    return socket != NULL ? socket->connection.tls : NULL;
}

static ssize_t transmit(struct mhd_socket *socket, const struct iovec *parts,
                        size_t count, int flags)
{
    struct tls *tls = socket->connection.tls;
    const struct msghdr message = {.msg_iov = (struct iovec *)parts,
                                   .msg_iovlen = count};
    ssize_t sent = tls != NULL
                       ? tls_send(tls, parts, count)
                       : __real_sendmsg(socket->connection.fd, &message, flags);
    if (sent > 0)
        socket->sent += (uint64_t)sent;
    return sent;
}

/* Sends the lines in place of the blank line at the end of the library's head,
 * which is the first of its parts. The library is told that the blank line is
 * sent when all lines are, and gets EAGAIN if only a part of them was. */
static ssize_t transmit_lines(struct mhd_socket *socket,
                              const struct iovec *head,
                              const struct iovec *body, int flags)
{
    struct kx_slice *lines = &socket->lines;
    const size_t blank = strlen("\r\n"), before = head->iov_len - blank;
    const struct iovec parts[] = {
        {.iov_base = head->iov_base, .iov_len = before},
        {.iov_base = (void *)lines->data, .iov_len = lines->size},
        *body,
    };
    ssize_t sent = transmit(socket, parts, sizeof parts / sizeof *parts, flags);
    if (sent < 0 || (size_t)sent < before)
        return sent;
    size_t after = (size_t)sent - before;
    size_t taken = after < lines->size ? after : lines->size;
    *lines = kx_slice(lines->data + taken, lines->size - taken);
    if (lines->size == 0)
        return (ssize_t)(before + blank + after - taken);
    if (before > 0)
        return (ssize_t)before;
    errno = EAGAIN;
    return -1;
}

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags)
{
    struct mhd_socket *socket = registered(fd);
    const struct iovec part = {.iov_base = (void *)data, .iov_len = size};
    const struct iovec no_body = {.iov_len = 0};
    if (socket == NULL)
        return __real_send(fd, data, size, flags);
    return socket->lines.size > 0
               ? transmit_lines(socket, &part, &no_body, flags)
               : transmit(socket, &part, 1, flags);
}

/* The library sends a head and a body so. */
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct mhd_socket *socket = registered(fd);
    const struct iovec *parts = message->msg_iov;
    if (socket == NULL)
        return __real_sendmsg(fd, message, flags);
    return socket->lines.size > 0
               ? transmit_lines(socket, &parts[0], &parts[1], flags)
               : transmit(socket, parts, message->msg_iovlen, flags);
}

void mhd_socket_add_lines(int fd, struct kx_slice lines)
{
    registered(fd)->lines = lines;
}

uint64_t mhd_socket_sent(int fd)
{
    const struct mhd_socket *socket = registered(fd);
    return socket != NULL ? socket->sent : 0;
}

const struct connection *mhd_socket_connection(int fd)
{
    const struct mhd_socket *socket = registered(fd);
    return socket != NULL ? &socket->connection : NULL;
}

int __wrap_shutdown(int fd, int how)
{
    const struct mhd_socket *socket = registered(fd);
    struct tls *tls = tls_of(socket);
    if (socket != NULL && socket->take != NULL)
        return 0;
    if (tls != NULL && how != SHUT_RD)
        tls_finish(tls);
    return __real_shutdown(fd, how);
}

static void pass_on(struct mhd_socket *socket)
{
    http1_take_fn *take = socket->take;
    void *receiver = socket->receiver;
    struct connection connection = socket->connection;
    forget(socket);
    take(receiver, &connection);
}

int __wrap_close(int fd)
{
    struct connection connection;
    struct mhd_socket *socket = registered(fd);
    if (socket != NULL && socket->take != NULL) {
        pass_on(socket);
        return 0;
    }
    if (mhd_socket_close(fd, &connection))
        connection_end(connection.service, &connection);
    return __real_close(fd);
}

/* ---- Faults ------------------------------------------------------------- */

/* Sends what fits into the socket's buffer at once and drops the remainder: the
 * answer is short, and a client whose buffer is full does not read. */
static void answer(const struct connection *connection,
                   enum framing_fault fault)
{
    char text[FRAMING_ANSWER_MAX];
    char id[TRACE_NEW_ID_SIZE];
    request_log_refusal(connection->service, framing_status(fault), id);
    size_t size = framing_answer(fault, id, text, sizeof text);
    send(connection->fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(connection->fd, SHUT_WR);
}

/* Answers the fault once and discards further input: closing with unread or
 * late input would reset the connection, and the client might never read the
 * answer (RFC 9112 section 9.6). Returns -1 with errno as __wrap_recv does
 * after a fault. */
static ssize_t turn_away(struct mhd_socket *socket)
{
    char scratch[SCRATCH];
    ssize_t got;
    if (!socket->turned_away)
        answer(&socket->connection, socket->fault);
    socket->turned_away = true;
    http1_deadline_set(&socket->deadline, HTTP1_NOTHING);
    do {
        got = receive(socket, scratch, sizeof scratch, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN)
            return -1;
        socket->drained += got > 0 ? (size_t)got : 0;
    } while (got > 0 && socket->drained <= MHD_SOCKET_DRAIN_MAX);
    errno = ECONNRESET;
    return -1;
}

/* True if the client of a socket that was read empty has ended its input. */
static bool input_has_ended(const struct mhd_socket *socket)
{
    char byte;
    if (socket->connection.tls != NULL)
        return tls_ended(socket->connection.tls);
    return __real_recv(socket->connection.fd, &byte, 1,
                       MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Checks for an end of input that arrived together with the requests, as `nc
 * -N` sends it: epoll does not report such an end again, and the library has
 * not seen it. Checked only once, so that a client with many requests does not
 * cost a system call for each. */
static bool has_ended(struct mhd_socket *socket)
{
    if (!socket->looked)
        socket->ended |= input_has_ended(socket);
    socket->looked = true;
    return socket->ended;
}

static void add_due(struct mhd_socket *socket)
{
    socket->next = due_sockets;
    due_sockets = socket;
}

/* The answer is not sent here, because the library is still working on this
 * socket. */
void mhd_socket_answered(int fd)
{
    struct mhd_socket *socket = registered(fd);
    if (socket == NULL || ++socket->answered != socket->framing.requests ||
        socket->turned_away ||
        (socket->fault == FRAMING_NO_FAULT && !has_ended(socket)))
        return;
    add_due(socket);
}

static void handle_faults(void)
{
    while (due_sockets != NULL) {
        struct mhd_socket *socket = due_sockets;
        due_sockets = socket->next;
        /* epoll does not report a client that has already gone; shutdown makes
         * it do so, so that the library closes the socket. */
        if (socket->ended || (turn_away(socket) < 0 && errno != EAGAIN))
            shutdown(socket->connection.fd, SHUT_RDWR);
    }
}

/* Handles an expired deadline. While earlier requests are being answered, the
 * client is not the slow side. The answer to a slow client is sent at once. */
static void handle_expired(struct http1_deadline *deadline)
{
    struct mhd_socket *socket = (struct mhd_socket *)deadline;
    if (socket->answered < socket->framing.requests) {
        http1_deadline_set(deadline, deadline->part);
        return;
    }
    socket->fault =
        deadline->part == HTTP1_HEAD ? FRAMING_SLOW_HEAD : FRAMING_SLOW_BODY;
    turn_away(socket);
    shutdown(socket->connection.fd, SHUT_RDWR);
}

void mhd_socket_cut(int fd)
{
    struct mhd_socket *socket = registered(fd);
    if (socket == NULL)
        return;
    if (framing_in_body(&socket->framing)) {
        socket->fault = FRAMING_STALLED_BODY;
        turn_away(socket);
    }
    __real_shutdown(fd, SHUT_RDWR);
}

void mhd_socket_handle_due(void)
{
    struct http1_deadline *deadline;
    handle_faults();
    if (http1_deadline_next() == 0)
        return;
    uint64_t now_ns = kx_monotonic_ns();
    while ((deadline = http1_deadline_expired(now_ns)) != NULL)
        handle_expired(deadline);
}

int mhd_socket_timeout_ms(void)
{
    uint64_t next = http1_deadline_next();
    return next == 0 ? -1 : (int)kx_ms_until(next);
}

/* ---- Input -------------------------------------------------------------- */

/* Starts the deadline of each part of a request when that part begins. */
static void time_part(struct mhd_socket *socket, uint64_t requests)
{
    enum http1_part part = HTTP1_NOTHING;
    if (framing_in_head(&socket->framing))
        part = HTTP1_HEAD;
    else if (framing_in_body(&socket->framing))
        part = HTTP1_BODY;
    if (part != socket->deadline.part ||
        (part != HTTP1_NOTHING && socket->framing.requests != requests))
        http1_deadline_set(&socket->deadline, part);
}

/* Hides cookies, which the service does not use: the library would parse them
 * into memory meant for headers, and would send its own answer if that memory
 * is too small. */
static void hide_cookie(const struct mhd_socket *socket, uint8_t *buffer)
{
    const uint8_t *name_end = socket->framing.cookie;
    if (name_end != NULL)
        buffer[name_end - buffer] = '-';
}

/* Returns how many of the received bytes the library may have. */
static ssize_t check(struct mhd_socket *socket, uint8_t *buffer, size_t size)
{
    uint64_t requests = socket->framing.requests;
    size_t good = framing_feed(&socket->framing, buffer, size, &socket->fault);
    hide_cookie(socket, buffer);
    time_part(socket, requests);
    return good > 0 ? (ssize_t)good : turn_away(socket);
}

/* Called when part of a request has arrived and the socket is empty: the client
 * may wait for an acknowledgement before it sends the remainder, or may have
 * ended. The library would not notice an end that arrived together with the
 * last bytes. A negative got means that there were no bytes; errno is preserved
 * then. */
static void await_remainder(struct mhd_socket *socket, ssize_t got)
{
    if (got < 0 || !input_has_ended(socket)) {
        connection_acknowledge(&socket->connection);
        return;
    }
    if (!socket->ended && socket->answered == socket->framing.requests)
        add_due(socket);
    socket->ended = true;
}

/* The end of a client's input is hidden from the library while answers are due,
 * since the library would drop them. Within a body it is reported as a reset:
 * the request cannot become complete, but the library would wait for the
 * remainder. */
static ssize_t take_end(struct mhd_socket *socket)
{
    bool due = socket->answered < socket->framing.requests;
    if (!due && !framing_in_body(&socket->framing))
        return 0;
    socket->ended |= due;
    errno = due ? EAGAIN : ECONNRESET;
    return -1;
}

/* Receives input of a socket that has had no fault. */
static ssize_t take(struct mhd_socket *socket, void *buffer, size_t size,
                    int flags)
{
    ssize_t got = receive(socket, buffer, size, flags);
    if (got == 0)
        return take_end(socket);
    ssize_t good = got > 0 ? check(socket, buffer, (size_t)got) : got;
    if (got < (ssize_t)size && socket->deadline.part != HTTP1_NOTHING)
        await_remainder(socket, got);
    return good;
}

ssize_t __wrap_recv(int fd, void *buffer, size_t size, int flags)
{
    struct mhd_socket *socket = registered(fd);
    if (socket == NULL || (flags & MSG_PEEK) != 0)
        return __real_recv(fd, buffer, size, flags);
    if (socket->fault == FRAMING_NO_FAULT)
        return take(socket, buffer, size, flags);
    if (socket->answered == socket->framing.requests)
        return turn_away(socket);
    errno = EAGAIN;
    return -1;
}
