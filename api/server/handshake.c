/* Each connection that shakes hands is a source of the loop. A connection that
 * does not begin as TLS gets a plain answer that says so. */
#include "server/handshake.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <talloc.h>

#include "net/reject.h"
#include "net/event_source.h"

enum { HANDSHAKE_RECORD = 22 }; /* the first byte of TLS (RFC 8446 section 5) */

struct handshake {
    struct event_source source;
    struct handshakes *all;
    struct connection connection;
    uint32_t events; /* that epoll waits for */
    TAILQ_ENTRY(handshake) order;
    uint64_t deadline_ns;
};

TAILQ_HEAD(handshake_list, handshake);

struct handshakes {
    struct service *service;
    int epoll_fd;
    lead_fn *lead;
    void *owner;
    struct handshake_list list; /* by their deadlines */
};

struct handshakes *handshakes_open(struct service *service, int epoll_fd,
                                   lead_fn *lead, void *owner)
{
    struct handshakes *all = talloc_zero(NULL, struct handshakes);
    if (all == NULL)
        return NULL;
    *all = (struct handshakes){
        .service = service, .epoll_fd = epoll_fd, .lead = lead, .owner = owner};
    TAILQ_INIT(&all->list);
    return all;
}

/* The connection is the caller's from here on. */
static struct connection forget(struct handshake *handshake)
{
    struct handshakes *all = handshake->all;
    struct connection connection = handshake->connection;
    TAILQ_REMOVE(&all->list, handshake, order);
    if (handshake->events != 0)
        epoll_ctl(all->epoll_fd, EPOLL_CTL_DEL, connection.fd, NULL);
    talloc_free(handshake);
    return connection;
}

static void give_up(struct handshake *handshake)
{
    struct service *service = handshake->all->service;
    struct connection connection = forget(handshake);
    connection_close(service, &connection);
}

static bool await(struct handshake *handshake, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = handshake};
    int how = handshake->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (events == handshake->events)
        return true;
    handshake->events = events;
    return epoll_ctl(handshake->all->epoll_fd, how, handshake->source.fd,
                     &event) == 0;
}

/* Looks at the first byte and leaves it where it is. */
static enum tls_step begin(struct handshake *handshake)
{
    struct handshakes *all = handshake->all;
    struct connection *connection = &handshake->connection;
    uint8_t first;
    ssize_t got = recvfrom(connection->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT,
                           NULL, NULL);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return TLS_WANTS_INPUT;
    if (got <= 0)
        return TLS_BROKEN;
    if (first != HANDSHAKE_RECORD) {
        dismiss(connection, PROBLEM_TLS_REQUIRED,
                "This port requires TLS; the request came without it.");
        return TLS_BROKEN;
    }
    connection->tls = tls_open(all->service->keyring, connection->fd);
    return connection->tls != NULL ? tls_handshake(connection->tls)
                                   : TLS_BROKEN;
}

static void go_on(struct handshake *handshake)
{
    struct handshakes *all = handshake->all;
    enum tls_step step = handshake->connection.tls == NULL
                             ? begin(handshake)
                             : tls_handshake(handshake->connection.tls);
    bool waits = step == TLS_WANTS_INPUT || step == TLS_WANTS_ROOM;
    if (step == TLS_WANTS_INPUT || step == TLS_THROUGH)
        connection_acknowledge(&handshake->connection);
    if (waits && await(handshake, step == TLS_WANTS_INPUT ? EPOLLIN : EPOLLOUT))
        return;
    if (step != TLS_THROUGH) {
        atomic_fetch_add(&all->service->counters.handshakes_failed, 1);
        give_up(handshake);
        return;
    }
    struct connection connection = forget(handshake);
    all->lead(all->owner, &connection);
}

static void on_ready(struct event_source *source)
{
    go_on((struct handshake *)source);
}

void handshakes_add(struct handshakes *handshakes,
                    const struct connection *connection)
{
    struct handshake *handshake = talloc_zero(handshakes, struct handshake);
    if (handshake == NULL) {
        struct connection lost = *connection;
        connection_close(handshakes->service, &lost);
        return;
    }
    handshake->source =
        (struct event_source){.ready = on_ready, .fd = connection->fd};
    handshake->all = handshakes;
    handshake->connection = *connection;
    handshake->deadline_ns =
        kx_monotonic_ns() +
        handshakes->service->options->header_timeout_ms * KX_MS_NS;
    TAILQ_INSERT_TAIL(&handshakes->list, handshake, order);
    go_on(handshake);
}

uint64_t handshakes_deadline(const struct handshakes *handshakes)
{
    const struct handshake *first = TAILQ_FIRST(&handshakes->list);
    return first != NULL ? first->deadline_ns : 0;
}

void handshakes_expire(struct handshakes *handshakes, uint64_t now_ns)
{
    struct handshake *first;
    while ((first = TAILQ_FIRST(&handshakes->list)) != NULL &&
           first->deadline_ns <= now_ns) {
        atomic_fetch_add(&handshakes->service->counters.handshakes_failed, 1);
        give_up(first);
    }
}

void handshakes_close(struct handshakes *handshakes)
{
    struct handshake *first;
    if (handshakes == NULL)
        return;
    while ((first = TAILQ_FIRST(&handshakes->list)) != NULL)
        give_up(first);
    talloc_free(handshakes);
}
