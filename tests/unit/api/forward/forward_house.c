/* Two nodes in one process: the second has sockets and a loop of its own. */
#include "forward_house.h"

#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "exchange/charge.h"
#include "exchange/exchange_loop.h"
#include "http1/mhd_socket.h"
#include "exchange/exchange_call.h"
#include "exchange/workers.h"
#include "server/loop.h"
#include "server/routes.h"

struct forward_house *nodes;

void know(const char *url)
{
    nodes->holder.epoch++;
    nodes->holder.alive = url != NULL;
    snprintf(nodes->holder.address, sizeof nodes->holder.address, "%s",
             url != NULL ? url : "");
    role_see(&house->service.role, &nodes->holder);
}

/* With a store that is not open. */
static void become_standby(void)
{
    nodes->reader = house->queue.reader;
    house->queue.reader = NULL;
    house->service.store = NULL;
    house->service.forward = forward_handle;
    role_init(&house->service.role, true, "two");
    nodes->forward = forward_open(&house->queue, nodes->epoll_fd);
    assert_non_null(nodes->forward);
    house->queue.forward = nodes->forward;
}

/* ---- The active node ---------------------------------------------------- */

/* Before any other thread: it may close a descriptor, and looks there. */
static void start_sockets(void)
{
    struct mhd_socket_limits limits = {
        .framing = {.body_max = 1 << 24,
                    .target_max = REQUEST_TARGET_MAX,
                    .headers_max = 1 << 14,
                    .header_count_max = 64},
        .header_timeout_ms = 60000,
        .body_timeout_ms = 60000};
    assert_true(mhd_socket_start(&limits));
}

static void start_active(void)
{
    char *arguments[] = {"test", "--listen", "127.0.0.1:0", NULL};
    struct listen_sockets sockets = {.bound.count = 0};
    char where[ADDRESS_TEXT_MAX];
    test_store_new(&nodes->store);
    test_store_close(&nodes->store);
    nodes->store.options.answer = loops_answer;
    nodes->store.options.answer_context = NULL;
    test_store_open(&nodes->store);
    assert_true(options_read(&nodes->options, 3, arguments));
    nodes->service.options = &nodes->options;
    nodes->service.routes = &ROUTES;
    nodes->service.store = nodes->store.store;
    nodes->service.tenants = tenants_open(1000, 1);
    nodes->service.workers =
        workers_open(&nodes->service, 1, 0, exchange_call_serve);
    assert_non_null(nodes->service.workers);
    assert_true(
        listen_sockets_open(&sockets, &nodes->options.listen, 1, where));
    struct socket_set set = listen_sockets_take(&sockets, 0);
    char url[ADDRESS_URL_MAX];
    address_url(&sockets.bound.all[0], "http", url);
    know(url);
    nodes->loop = loop_start(&nodes->service, 0, &set);
    assert_non_null(nodes->loop);
}

void stop_active(void)
{
    if (nodes->loop == NULL)
        return;
    nodes->service.stopping = true;
    loop_stop(nodes->loop);
    loop_join(nodes->loop);
    nodes->loop = NULL;
    workers_close(nodes->service.workers);
    tenants_close(nodes->service.tenants);
    mhd_socket_stop();
}

/* ---- Both --------------------------------------------------------------- */

int begin_nodes(void **state)
{
    start_sockets();
    begin_house(state);
    nodes = talloc_zero(NULL, struct forward_house);
    nodes->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    become_standby();
    start_active();
    return 0;
}

int finish_nodes(void **state)
{
    assert_int_equal(nodes->forward->requests, 0);
    assert_int_equal(nodes->forward->lasting, 0);
    assert_int_equal(house->queue.in_flight, 0);
    forward_close(nodes->forward);
    house->queue.reader = nodes->reader;
    house->service.store = house->test.store;
    stop_active();
    test_store_remove(&nodes->store);
    close(nodes->epoll_fd);
    talloc_free(nodes);
    return finish_house(state);
}

/* ---- Work --------------------------------------------------------------- */

/* One turn of a loop, which waits for so long at most; -1: until something
 * happens. */
static void turn(int timeout_ms)
{
    struct epoll_event events[16];
    house->queue.now_ns = kx_monotonic_ns();
    role_see(&house->service.role, &nodes->holder);
    int count = epoll_wait(nodes->epoll_fd, events, 16, timeout_ms);
    for (int i = 0; i < count; i++) {
        struct event_source *source = events[i].data.ptr;
        source->ready(source);
    }
    forward_run(nodes->forward);
    exchange_loop_answers(&house->queue);
    exchange_loop_alarms(&house->queue, house->service.stopping);
    exchange_loop_turns(&house->queue);
}

void work(void)
{
    turn(0);
}

/* It looks every few milliseconds, because the eventfd of the run queue is no
 * source here. */
void wait_for_answers(unsigned ready)
{
    while (house->ready < ready)
        turn(2);
}

struct exchange *ask(enum method method, const char *target,
                     struct kx_slice body)
{
    unsigned ready = house->ready;
    struct exchange *exchange = start(method, target, body, EXCHANGE_PARK);
    wait_for_answers(ready + 1);
    return exchange;
}

struct kx_slice read_all(struct exchange *exchange)
{
    struct kx_buffer all;
    enum exchange_chunk how = CHUNK_DATA;
    kx_buffer_init(&all, house->mem);
    while (how == CHUNK_DATA || how == CHUNK_PARK) {
        char piece[4096];
        size_t size = 0;
        unsigned ready = house->ready;
        how = exchange_chunk(exchange, piece, sizeof piece, &size);
        kx_add(&all, piece, size);
        if (how == CHUNK_PARK)
            wait_for_answers(ready + 1);
    }
    if (how == CHUNK_BROKEN)
        kx_add_text(&all, "BROKEN");
    return kx_buffer_slice(&all);
}

/* ---- The rude peer ------------------------------------------------------ */

/* Reads a request, whose body, if any, comes with its head or is not read.
 * False: the connection has ended. */
static bool read_request(int fd)
{
    char text[8192];
    size_t size = 0;
    while (size < sizeof text - 1) {
        ssize_t got = read(fd, text + size, sizeof text - 1 - size);
        if (got <= 0)
            return false;
        size += (size_t)got;
        text[size] = '\0';
        if (strstr(text, "\r\n\r\n") != NULL)
            return true;
    }
    return false;
}

static void *be_rude(void *closure)
{
    static const char answer[] = "HTTP/1.1 204 No Content\r\n\r\n";
    struct rude_peer *peer = closure;
    int fd;
    while (peer->unanswered > 0 && (fd = accept(peer->fd, NULL, NULL)) >= 0) {
        peer->connection = fd;
        for (unsigned n = 0; read_request(fd); n++) {
            peer->seen++;
            if (n < peer->answered) {
                assert_int_equal(write(fd, answer, sizeof answer - 1),
                                 sizeof answer - 1);
                continue;
            }
            peer->unanswered--;
            break;
        }
        peer->connection = -1;
        close(fd);
    }
    return NULL;
}

void rude_peer_start(struct rude_peer *peer)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    peer->seen = 0;
    peer->connection = -1;
    peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(peer->fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(peer->fd, 16), 0);
    assert_int_equal(getsockname(peer->fd, (struct sockaddr *)&address, &size),
                     0);
    char url[ADDRESS_URL_MAX];
    sprintf(url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    know(url);
    assert_int_equal(pthread_create(&peer->thread, NULL, be_rude, peer), 0);
}

void rude_peer_join(struct rude_peer *peer)
{
    shutdown(peer->fd, SHUT_RDWR);
    shutdown(peer->connection, SHUT_RDWR);
    pthread_join(peer->thread, NULL);
    close(peer->fd);
}
