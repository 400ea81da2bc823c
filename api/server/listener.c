/* A connection that has sent nothing costs a descriptor and a small struct; it
 * gets to a door, and to that door's memory, with its first bytes. Thousands of
 * idle connections are thereby cheap, and those bytes tell the protocol: they
 * are looked at and left where they are. The listening sockets and every
 * connection that waits are sources of the loop's epoll. */
#include "server/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <talloc.h>
#include <unistd.h>

#include "net/reject.h"
#include "server/handshake.h"

enum {
    ACCEPT_MAX = 64, /* connections accepted at a time, so that other sources
                      * get their turn */
    PAUSE_NS = 100 * 1000 * 1000, /* when there are no descriptors left */
    UNSENT_MAX = 128 * 1024       /* of a reply, kept by the kernel */
};

/* The preface of HTTP/2 (RFC 9113 section 3.4). No request of HTTP/1.1 begins
 * with it: the first byte that differs decides. */
static const char PREFACE[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum { PREFACE_SIZE = sizeof PREFACE - 1 };

/* A connection whose protocol is not known yet. */
struct greeting {
    struct event_source source;
    struct listener *listener;
    struct connection connection;
    size_t seen;                 /* bytes of the preface */
    TAILQ_ENTRY(greeting) order; /* of their deadlines */
    uint64_t deadline_ns;
};

TAILQ_HEAD(greetings, greeting);

/* A listening socket. */
struct entrance {
    struct event_source source;
    struct listener *listener;
};

struct listener {
    struct entrance entrances[ADDRESSES_MAX];
    size_t entrance_count;
    int epoll_fd;
    struct http1 *http1;
    struct http2 *http2;
    struct service *service;
    struct greetings greetings; /* of plain connections */
    struct handshakes
        *handshakes;          /* of the other addresses; NULL: all are plain */
    uint64_t paused_until_ns; /* 0: accepting */
};

static bool watch(struct listener *listener, struct event_source *source)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
    return epoll_ctl(listener->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) ==
           0;
}

static void unwatch(struct listener *listener, struct event_source *source)
{
    epoll_ctl(listener->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
}

/* The caller hands the connection to its door, or closes it. */
static struct connection forget(struct greeting *greeting)
{
    struct connection connection = greeting->connection;
    TAILQ_REMOVE(&greeting->listener->greetings, greeting, order);
    unwatch(greeting->listener, &greeting->source);
    talloc_free(greeting);
    return connection;
}

static void give_up(struct greeting *greeting)
{
    struct service *service = greeting->listener->service;
    struct connection connection = forget(greeting);
    connection_close(service, &connection);
}

enum speech { SILENT, SPEAKS_HTTP1, SPEAKS_HTTP2, GONE };

/* Waits for one byte more than have arrived, because otherwise the socket would
 * be ready all the time. If it wakes without a further byte, no more will
 * arrive. */
static enum speech hear_more(int fd, size_t size, size_t *seen)
{
    const int wanted = (int)size + 1;
    if (size == *seen)
        return SPEAKS_HTTP1;
    *seen = size;
    return setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &wanted, sizeof wanted) == 0
               ? SILENT
               : GONE;
}

/* What the bytes that are there say. Not recv(): that one is checked for
 * framing. */
static enum speech hear(int fd, size_t *seen)
{
    char bytes[PREFACE_SIZE];
    ssize_t size =
        recvfrom(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT, NULL, NULL);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return SILENT;
    if (size <= 0)
        return GONE;
    if (memcmp(bytes, PREFACE, (size_t)size) != 0)
        return SPEAKS_HTTP1;
    return size == PREFACE_SIZE ? SPEAKS_HTTP2
                                : hear_more(fd, (size_t)size, seen);
}

/* To its door, which is known by now. */
static void lead(struct listener *listener, struct connection *connection,
                 enum speech speech)
{
    if (speech == GONE)
        connection_close(listener->service, connection);
    else if (speech == SPEAKS_HTTP2)
        http2_add(listener->http2, connection);
    else
        http1_add(listener->http1, connection);
}

/* The TLS handshake has ended and has agreed on the protocol. */
static void lead_by_tls(void *owner, struct connection *connection)
{
    lead(owner, connection,
         tls_is_http2(connection->tls) ? SPEAKS_HTTP2 : SPEAKS_HTTP1);
}

static void on_greeting(struct event_source *source)
{
    const int one = 1;
    struct greeting *greeting = (struct greeting *)source;
    struct listener *listener = greeting->listener;
    int fd = source->fd;
    enum speech speech = hear(fd, &greeting->seen);
    if (speech == SILENT)
        return;
    if (greeting->seen > 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof one);
    struct connection connection = forget(greeting);
    lead(listener, &connection, speech);
}

/* All connections wait equally long, so they are in the order of their
 * deadlines. */
static void await_greeting(struct listener *listener,
                           struct connection *connection, size_t seen)
{
    struct greeting *greeting = talloc_zero(listener, struct greeting);
    if (greeting == NULL) {
        connection_close(listener->service, connection);
        return;
    }
    greeting->source =
        (struct event_source){.ready = on_greeting, .fd = connection->fd};
    greeting->listener = listener;
    greeting->seen = seen;
    greeting->connection = *connection;
    greeting->deadline_ns =
        kx_monotonic_ns() +
        listener->service->options->idle_timeout_ms * KX_MS_NS;
    TAILQ_INSERT_TAIL(&listener->greetings, greeting, order);
    if (!watch(listener, &greeting->source))
        give_up(greeting);
}

/* Most clients send at once, so the first bytes are often there by now. */
static void greet(struct listener *listener, struct connection *connection)
{
    size_t seen = 0;
    enum speech speech = hear(connection->fd, &seen);
    if (speech == SILENT)
        await_greeting(listener, connection, seen);
    else
        lead(listener, connection, speech);
}

/* The connection exceeds a limit. With TLS there is no answer, since it would
 * have to come before the handshake. */
static void refuse(const struct listener *listener,
                   const struct connection *connection,
                   enum connection_verdict verdict)
{
    if (listener->handshakes == NULL)
        dismiss(connection, PROBLEM_OVERLOADED,
                verdict == CONNECTION_SERVER_FULL
                    ? "The server has as many connections as it may have "
                      "(--connections-max)."
                    : "This address has as many connections as one may have "
                      "(--connections-per-address).");
    close(connection->fd);
}

/* Nagle's algorithm would hold back the last piece of a reply. Without the
 * second option the kernel takes megabytes for a client that does not read; on
 * a system without the option it still does. */
static void set_up(int fd)
{
    const int on = 1, unsent = UNSENT_MAX;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
}

static void welcome(struct listener *listener, struct connection *connection)
{
    enum connection_verdict verdict =
        connection_begin(listener->service, connection);
    if (verdict != CONNECTION_ACCEPTED) {
        refuse(listener, connection, verdict);
        return;
    }
    set_up(connection->fd);
    if (listener->handshakes != NULL)
        handshakes_add(listener->handshakes, connection);
    else
        greet(listener, connection);
}

static bool watch_entrances(struct listener *listener)
{
    for (size_t i = 0; i < listener->entrance_count; i++)
        if (!watch(listener, &listener->entrances[i].source) && errno != EEXIST)
            return false;
    return true;
}

/* The sockets would stay readable and the loop would spin: they are left alone
 * for a while instead. */
static void pause_accepting(struct listener *listener, int error)
{
    kx_log(KX_LOG_WARNING, "accept-failed", "error=\"%s\"", strerror(error));
    for (size_t i = 0; i < listener->entrance_count; i++)
        unwatch(listener, &listener->entrances[i].source);
    listener->paused_until_ns = kx_monotonic_ns() + PAUSE_NS;
}

/* Handles a failure of accept. True if the caller should try again. */
static bool after_failure(struct listener *listener, int error)
{
    if (error == EMFILE || error == ENFILE || error == ENOMEM ||
        error == ENOBUFS)
        pause_accepting(listener, error);
    return error == ECONNABORTED || error == EINTR;
}

static void on_connections(struct event_source *source)
{
    struct listener *listener = ((struct entrance *)source)->listener;
    for (int i = 0; i < ACCEPT_MAX; i++) {
        struct connection connection = {.peer_size = sizeof connection.peer};
        connection.fd =
            accept4(source->fd, (struct sockaddr *)&connection.peer,
                    &connection.peer_size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (connection.fd >= 0)
            welcome(listener, &connection);
        else if (!after_failure(listener, errno))
            return;
    }
}

static bool watch_sockets(struct listener *listener,
                          const struct socket_set *sockets)
{
    listener->entrance_count = sockets->count;
    for (size_t i = 0; i < sockets->count; i++)
        listener->entrances[i] = (struct entrance){
            .source = {.ready = on_connections, .fd = sockets->fds[i]},
            .listener = listener};
    return watch_entrances(listener);
}

struct listener *listener_open(const struct socket_set *sockets, int epoll_fd,
                               struct http1 *http1, struct http2 *http2,
                               struct service *service)
{
    struct listener *listener = talloc_zero(NULL, struct listener);
    if (listener == NULL) {
        socket_set_close(sockets);
        return NULL;
    }
    listener->epoll_fd = epoll_fd;
    listener->http1 = http1;
    listener->http2 = http2;
    listener->service = service;
    TAILQ_INIT(&listener->greetings);
    if (service->keyring != NULL)
        listener->handshakes =
            handshakes_open(service, epoll_fd, lead_by_tls, listener);
    if (watch_sockets(listener, sockets) &&
        (service->keyring == NULL || listener->handshakes != NULL))
        return listener;
    listener_close(listener);
    return NULL;
}

void listener_close(struct listener *listener)
{
    struct greeting *greeting;
    while ((greeting = TAILQ_FIRST(&listener->greetings)) != NULL)
        give_up(greeting);
    handshakes_close(listener->handshakes);
    for (size_t i = 0; i < listener->entrance_count; i++)
        close(listener->entrances[i].source.fd);
    talloc_free(listener);
}

/* The earlier of two times; 0 means no time. */
static uint64_t earlier(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

/* The time of the next thing to do; 0: nothing to do. */
static uint64_t next_deadline(const struct listener *listener)
{
    const struct greeting *first = TAILQ_FIRST(&listener->greetings);
    uint64_t deadline = listener->paused_until_ns;
    if (first != NULL)
        deadline = earlier(deadline, first->deadline_ns);
    if (listener->handshakes != NULL)
        deadline = earlier(deadline, handshakes_deadline(listener->handshakes));
    return deadline;
}

int listener_timeout_ms(const struct listener *listener)
{
    uint64_t deadline = next_deadline(listener);
    return deadline == 0 ? -1 : (int)kx_ms_until(deadline);
}

static void end_pause(struct listener *listener, uint64_t now)
{
    if (listener->paused_until_ns != 0 && listener->paused_until_ns <= now &&
        watch_entrances(listener))
        listener->paused_until_ns = 0;
}

void listener_expire(struct listener *listener)
{
    uint64_t deadline = next_deadline(listener);
    uint64_t now = deadline != 0 ? kx_monotonic_ns() : 0;
    end_pause(listener, now);
    struct greeting *first;
    while ((first = TAILQ_FIRST(&listener->greetings)) != NULL &&
           first->deadline_ns <= now)
        give_up(first);
    if (listener->handshakes != NULL)
        handshakes_expire(listener->handshakes, now);
}
