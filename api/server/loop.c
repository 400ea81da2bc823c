/* Each turn: wait, let the ready sources work, continue what was answered and
 * what waits for its turn, then let the doors read and write. There are two
 * levels of epoll: HTTP/1.1 has a descriptor of its own, which is one source
 * here beside the listening sockets, the connections of HTTP/2, the run queue's
 * eventfd and the one for stopping. */
#include "server/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <talloc.h>
#include <unistd.h>

#include "exchange/exchange_loop.h"
#include "exchange/charge.h"
#include "forward/forward.h"
#include "server/listener.h"

enum { EVENTS_MAX = 64 };

/* Time for the requests in flight when the loop must stop. */
static const uint64_t GRACE_NS = 2500000000;

/* A descriptor that only wakes the loop. */
struct wake {
    struct event_source source;
    bool woken;
};

/* All members belong to the loop's thread while it runs, except stop's
 * descriptor, to which any thread may write. */
struct loop {
    struct run_queue queue;
    struct listener *listener; /* NULL once the loop is stopping */
    struct http1 *http1;
    struct http1_streams *streams;
    struct http2 *http2;
    struct wake door;    /* http1's epoll descriptor */
    struct wake answers; /* the run queue's eventfd */
    struct wake stop;    /* an eventfd */
    int epoll_fd;
    pthread_t thread;
    uint64_t give_up_ns; /* 0 until the loop is stopping */
};

static void on_wake(struct event_source *source)
{
    ((struct wake *)source)->woken = true;
}

static bool watch(struct loop *loop, struct wake *wake, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = wake};
    wake->source = (struct event_source){.ready = on_wake, .fd = fd};
    return fd >= 0 && epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Returns the earlier of two timeouts; a negative one means never. */
static int sooner(int a, int b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a < b ? a : b;
}

/* The loop does not sleep while an exchange waits for its turn. A loop that is
 * stopping checks every 10 ms whether it can end. */
static int timeout_ms(const struct loop *loop)
{
    if (loop->queue.turns.count > 0)
        return 0;
    int timeout =
        sooner(http1_timeout_ms(loop->http1), http2_timeout_ms(loop->http2));
    timeout = sooner(timeout, http1_streams_timeout_ms(loop->streams));
    timeout = sooner(timeout, run_queue_timeout_ms(&loop->queue));
    timeout = sooner(timeout, charge_timeout_ms(&loop->queue));
    if (loop->queue.forward != NULL)
        timeout = sooner(timeout, forward_timeout_ms(loop->queue.forward));
    if (loop->listener != NULL)
        return sooner(timeout, listener_timeout_ms(loop->listener));
    return sooner(timeout, 10);
}

/* Announces that commits may come from this loop; expect_none announces that
 * none will come for now. */
static void expect_commits(struct loop *loop)
{
    if (loop->queue.reader != NULL)
        kx_commits_expected(loop->queue.service->store);
}

static void expect_none(struct loop *loop)
{
    if (loop->queue.reader != NULL)
        kx_commits_done(loop->queue.service->store);
}

/* Returns how many sources were ready. Before it sleeps, announces that no
 * commits come from this loop. */
static int wait_for_sources(struct loop *loop, int timeout)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(loop->epoll_fd, events, EVENTS_MAX, 0);
    if (count == 0 && timeout != 0) {
        expect_none(loop);
        count = epoll_wait(loop->epoll_fd, events, EVENTS_MAX, timeout);
        expect_commits(loop);
    }
    if (loop->queue.reader == NULL && run_queue_attach(&loop->queue))
        expect_commits(loop);
    exchange_loop_begin(&loop->queue, kx_monotonic_ns());
    for (int i = 0; i < count; i++) {
        struct event_source *source = events[i].data.ptr;
        source->ready(source);
    }
    return count;
}

/* The eventfd is never read: it is taken off instead, so that it wakes only
 * once. */
static void begin_stop(struct loop *loop)
{
    listener_close(loop->listener);
    loop->listener = NULL;
    http2_stop(loop->http2);
    loop->give_up_ns = kx_monotonic_ns() + GRACE_NS;
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, loop->stop.source.fd, NULL);
}

/* Continues exchanges that were answered, have waited long enough, or wait for
 * their turn. False if there was no such exchange. */
static bool continue_exchanges(struct loop *loop)
{
    bool answered = loop->answers.woken && exchange_loop_answers(&loop->queue);
    loop->answers.woken = false;
    bool late = exchange_loop_alarms(&loop->queue, loop->listener == NULL);
    return exchange_loop_turns(&loop->queue) || answered || late;
}

/* The flag is cleared first: what becomes ready meanwhile wakes the loop
 * again. */
static void run_door(struct loop *loop)
{
    loop->door.woken = false;
    http1_run(loop->http1);
}

/* One round of the loop; returns how many sources were ready. */
static int turn(struct loop *loop)
{
    int count = wait_for_sources(loop, timeout_ms(loop));
    if (loop->stop.woken && loop->listener != NULL)
        begin_stop(loop);
    if (loop->listener != NULL)
        listener_expire(loop->listener);
    charge_end_stalled(&loop->queue);
    if (loop->queue.forward != NULL)
        forward_run(loop->queue.forward);
    if (continue_exchanges(loop) || loop->door.woken || count <= 0 ||
        http1_timeout_ms(loop->http1) == 0)
        run_door(loop);
    http1_streams_run(loop->streams);
    http2_run(loop->http2);
    return count;
}

/* True if everything is answered, or the time for that has expired. An exchange
 * that waits for the core is always waited for: its answer will come and needs
 * it. */
static bool finished(struct loop *loop, int ready)
{
    if (loop->give_up_ns == 0)
        return false;
    if (kx_monotonic_ns() > loop->give_up_ns) {
        exchange_loop_abandon(&loop->queue);
        return loop->queue.awaited == 0 && !run_queue_has_turns(&loop->queue);
    }
    return ready <= 0 && loop->queue.in_flight == 0 &&
           !http2_unsent(loop->http2);
}

static void *run(void *closure)
{
    struct loop *loop = closure;
    int ready;
    pthread_setname_np(pthread_self(), "loop");
    expect_commits(loop);
    do
        ready = turn(loop);
    while (!finished(loop, ready));
    expect_none(loop);
    return NULL;
}

static void free_parts(struct loop *loop)
{
    if (loop->listener != NULL)
        listener_close(loop->listener);
    if (loop->http1 != NULL)
        http1_close(loop->http1);
    http1_streams_close(loop->streams);
    if (loop->http2 != NULL)
        http2_close(loop->http2);
    forward_close(loop->queue.forward);
    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
    if (loop->stop.source.fd >= 0)
        close(loop->stop.source.fd);
    run_queue_close(&loop->queue);
    talloc_free(loop);
}

/* On failure free_parts closes what was opened; the sockets are taken over even
 * then. */
static bool open_parts(struct loop *loop, const struct socket_set *sockets)
{
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->stop.source.fd = -1;
    bool forwards = loop->queue.service->forward != NULL;
    if (forwards)
        loop->queue.forward = forward_open(&loop->queue, loop->epoll_fd);
    loop->streams = http1_streams_open(&loop->queue, loop->epoll_fd);
    if (loop->streams != NULL)
        loop->http1 = http1_open(&loop->queue, loop->streams);
    loop->http2 = http2_open(&loop->queue, loop->epoll_fd);
    if (loop->http1 != NULL && loop->http2 != NULL && loop->epoll_fd >= 0)
        loop->listener = listener_open(sockets, loop->epoll_fd, loop->http1,
                                       loop->http2, loop->queue.service);
    else
        socket_set_close(sockets);
    return loop->listener != NULL &&
           forwards == (loop->queue.forward != NULL) &&
           watch(loop, &loop->stop, eventfd(0, EFD_CLOEXEC)) &&
           watch(loop, &loop->answers, loop->queue.answers_fd) &&
           watch(loop, &loop->door, http1_descriptor(loop->http1));
}

struct loop *loop_start(struct service *service, unsigned number,
                        const struct socket_set *sockets)
{
    struct loop *loop = talloc_zero(NULL, struct loop);
    if (loop == NULL || !run_queue_open(&loop->queue, service, number)) {
        talloc_free(loop);
        socket_set_close(sockets);
        return NULL;
    }
    if (open_parts(loop, sockets) &&
        pthread_create(&loop->thread, NULL, run, loop) == 0)
        return loop;
    free_parts(loop);
    return NULL;
}

void loop_stop(struct loop *loop)
{
    const uint64_t one = 1;
    while (write(loop->stop.source.fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

void loop_join(struct loop *loop)
{
    if (loop == NULL)
        return;
    pthread_join(loop->thread, NULL);
    free_parts(loop);
}

/* Sorts the tickets by loop, so that each run queue is locked and woken once
 * for a flush, however many commits wait for that flush. */
void loops_answer(void *context, struct kx_ticket *first)
{
    struct run_queue *queues[LOOPS_MAX] = {NULL};
    struct kx_ticket *lists[LOOPS_MAX] = {NULL};
    (void)context;
    while (first != NULL) {
        struct kx_ticket *next = first->next;
        const struct exchange *exchange = first->owner;
        unsigned number = exchange->queue->number;
        queues[number] = exchange->queue;
        first->next = lists[number];
        lists[number] = first;
        first = next;
    }
    for (size_t i = 0; i < LOOPS_MAX; i++)
        if (lists[i] != NULL)
            run_queue_put(queues[i], lists[i]);
}
