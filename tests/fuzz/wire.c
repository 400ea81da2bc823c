/* Bytes as they come over a connection, through both doors and the libraries
 * behind them: the first byte chooses HTTP/1.1 or HTTP/2 (with or without its
 * preface), the second how large the pieces are. For any input, the
 * connection ends, and with it every request that it brought. */
#include "exchange/exchange_loop.h"
#include "house.h"
#include "http1/http1.h"
#include "http1/mhd_socket.h"
#include "http2/http2.h"
#include "net/event_source.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS_MAX = 8, ROUNDS_MAX = 20000, OPENING = 33 };

static struct http1 *http1;
static struct http1_streams *streams;
static struct http2 *http2;
static int epoll_fd;

/* Preface and empty SETTINGS. */
static const char PREFACE[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                              "\0\0\0\4\0\0\0\0\0";

static void open_doors(void *memory)
{
    static const struct mhd_socket_limits limits = {
        .framing = {.body_max = 1 << 16,
                    .target_max = 512,
                    .headers_max = 2048,
                    .header_count_max = 32},
        .header_timeout_ms = 60000,
        .body_timeout_ms = 60000};
    if (http1 != NULL)
        return;
    house_open(memory);
    signal(SIGPIPE, SIG_IGN);
    house.service.tenants =
        tenants_open(house.options.connections_per_address, 1);
    assert_non_null(house.service.tenants);
    assert_true(mhd_socket_start(&limits));
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    streams = http1_streams_open(&house.queue, epoll_fd);
    assert_non_null(streams);
    http1 = http1_open(&house.queue, streams);
    http2 = http2_open(&house.queue, epoll_fd);
    assert_non_null(http1);
    assert_non_null(http2);
}

/* One turn, as in loop.c. */
static void turn(void)
{
    struct epoll_event events[EVENTS_MAX];
    struct pollfd answers = {.fd = house.queue.answers_fd, .events = POLLIN};
    int count = epoll_wait(epoll_fd, events, EVENTS_MAX, 0);
    for (int i = 0; i < count; i++) {
        struct event_source *source = events[i].data.ptr;
        source->ready(source);
    }
    bool any = exchange_loop_answers(&house.queue);
    any |= exchange_loop_turns(&house.queue);
    http1_run(http1);
    http1_streams_run(streams);
    http2_run(http2);
    if (count <= 0 && !any && house.queue.awaited > 0)
        poll(&answers, 1, 1);
}

/* Reads what the server has said; false when there was nothing. */
static bool listen_to(int client)
{
    char answer[16384];
    return read(client, answer, sizeof answer) > 0;
}

/* Lets the server answer until it has nothing more to say for now. */
static void settle(int client)
{
    for (int quiet = 0, rounds = 0; quiet < 2; rounds++) {
        assert_true(rounds < ROUNDS_MAX);
        turn();
        bool busy = run_queue_has_turns(&house.queue);
        quiet = listen_to(client) || busy ? 0 : quiet + 1;
    }
}

static void say(int client, struct kx_slice bytes, size_t piece)
{
    while (bytes.size > 0) {
        struct kx_slice next = fuzz_take(&bytes, piece);
        if (write(client, next.data, next.size) < 0)
            return;
        settle(client);
    }
}

/* The client goes away; what waits for news is woken, as when the server
 * stops. */
static void leave(int client)
{
    shutdown(client, SHUT_WR);
    settle(client);
    house.service.stopping = true;
    exchange_loop_alarms(&house.queue, true);
    settle(client);
    close(client);
    for (int rounds = 0;
         house.service.counters.connections > 1 || house.queue.in_flight > 0;
         rounds++) {
        assert_true(rounds < ROUNDS_MAX);
        exchange_loop_alarms(&house.queue, true);
        turn();
    }
    house.service.stopping = false;
}

void fuzz(struct kx_slice input, void *memory)
{
    struct connection connection = {.peer_size = sizeof(struct sockaddr_in)};
    int pair[2];
    uint8_t door = fuzz_byte(&input) % 3;
    size_t piece = fuzz_byte(&input);
    open_doors(memory);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair),
                     0);
    connection.fd = pair[1];
    connection.peer.ss_family = AF_INET;
    assert_int_equal(connection_begin(&house.service, &connection),
                     CONNECTION_ACCEPTED);
    if (door == 0)
        http1_add(http1, &connection);
    else
        http2_add(http2, &connection);
    if (door == 1)
        say(pair[0], kx_slice(PREFACE, OPENING), OPENING);
    say(pair[0], input, piece == 0 ? input.size : piece);
    leave(pair[0]);
    house_tidy(memory);
}
