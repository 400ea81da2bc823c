/* The socket in front of the HTTP library: what the library gets to read, and
 * what a client is told. The library's part is played by the test. */
#include "unit.h"

#include "http1/http1_deadline.h"
#include "http1/mhd_socket.h"
#include "server/routes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GOOD "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
#define BAD "GET / HTTP/1.1\r\nHost : h\r\n\r\n"

struct pair {
    int client;
    int server;
};

static const struct mhd_socket_limits LIMITS = {
    .framing = {.body_max = 1000,
                .target_max = 1000,
                .headers_max = 1000,
                .header_count_max = 10},
    .header_timeout_ms = 60000,
    .body_timeout_ms = 60000,
};

static bool open_socket(int fd)
{
    static const struct options options;
    static struct service service = {.options = &options, .routes = &ROUTES};
    const struct connection connection = {.service = &service, .fd = fd};
    return mhd_socket_open(&connection);
}

static bool close_socket(int fd)
{
    struct connection connection;
    return mhd_socket_close(fd, &connection);
}

static int open_pair(void **state)
{
    static struct pair pair;
    int fds[2];
    if (!mhd_socket_start(&LIMITS) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) != 0 ||
        !open_socket(fds[1]))
        return 1;
    pair = (struct pair){fds[0], fds[1]};
    *state = &pair;
    return 0;
}

static int close_pair(void **state)
{
    struct pair *pair = *state;
    close_socket(pair->server);
    close(pair->server);
    close(pair->client);
    mhd_socket_stop();
    return 0;
}

static void say(const struct pair *pair, const char *text)
{
    assert_int_equal(write(pair->client, text, strlen(text)), strlen(text));
}

/* The next recv() of the library gives this text; NULL: it gives error. */
static void gives(const struct pair *pair, const char *text, int error)
{
    char bytes[4096];
    errno = 0;
    ssize_t size = __wrap_recv(pair->server, bytes, sizeof bytes, 0);
    if (text == NULL) {
        assert_int_equal(size, -1);
        assert_int_equal(errno, error);
        return;
    }
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, strlen(text));
}

/* The client has got an answer with this status and text, and the end of the
 * stream, or, with 0, nothing yet. */
static void client_has_text(const struct pair *pair, int status,
                            const char *text)
{
    char bytes[4096] = "";
    char expected[32];
    ssize_t size = read(pair->client, bytes, sizeof bytes - 1);
    if (status == 0) {
        assert_int_equal(size, -1);
        assert_int_equal(errno, EAGAIN);
        return;
    }
    snprintf(expected, sizeof expected, "HTTP/1.1 %d ", status);
    assert_true(size > 0);
    assert_memory_equal(bytes, expected, strlen(expected));
    assert_non_null(strstr(bytes, text));
    assert_int_equal(read(pair->client, bytes, sizeof bytes), 0);
}

static void client_has(const struct pair *pair, int status)
{
    client_has_text(pair, status, "");
}

TEST_WITH(recv_passes_valid_requests, open_pair, close_pair)
{
    const struct pair *pair = *state;
    gives(pair, NULL, EAGAIN);
    say(pair, GOOD "GET /");
    gives(pair, GOOD "GET /", 0);
    mhd_socket_answered(pair->server);
    mhd_socket_handle_due();
    client_has(pair, 0);
    shutdown(pair->client, SHUT_WR);
    gives(pair, "", 0);
}

#define PART "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhal"

TEST_WITH(end_within_body_is_reported_as_reset, open_pair, close_pair)
{
    const struct pair *pair = *state;
    say(pair, GOOD PART);
    gives(pair, GOOD PART, 0);
    shutdown(pair->client, SHUT_WR);
    gives(pair, NULL, EAGAIN); /* the first request is not answered */
    mhd_socket_answered(pair->server);
    gives(pair, NULL, ECONNRESET);
}

/* The library, which waits for a sign, is given one: its side is shut down. */
TEST_WITH(end_that_arrives_with_part_of_body_is_noticed, open_pair, close_pair)
{
    const struct pair *pair = *state;
    char byte;
    say(pair, PART);
    shutdown(pair->client, SHUT_WR);
    gives(pair, PART, 0);
    mhd_socket_handle_due();
    assert_int_equal(read(pair->client, &byte, 1), 0);
    gives(pair, NULL, ECONNRESET);
}

TEST_WITH(faulty_request_is_answered_and_input_drained, open_pair, close_pair)
{
    const struct pair *pair = *state;
    say(pair, BAD GOOD);
    gives(pair, NULL, EAGAIN);
    client_has(pair, 400);
    say(pair, GOOD);
    gives(pair, NULL, EAGAIN);
    shutdown(pair->client, SHUT_WR);
    gives(pair, NULL, ECONNRESET);
}

TEST_WITH(faulty_request_is_answered_after_earlier_requests, open_pair,
          close_pair)
{
    const struct pair *pair = *state;
    say(pair, GOOD GOOD BAD GOOD);
    gives(pair, GOOD GOOD, 0);
    gives(pair, NULL, EAGAIN);
    mhd_socket_answered(pair->server);
    mhd_socket_handle_due();
    client_has(pair, 0);
    mhd_socket_answered(pair->server);
    client_has(pair, 0);
    mhd_socket_handle_due();
    client_has(pair, 400);
    gives(pair, NULL, EAGAIN);
}

TEST_WITH(faulty_request_is_not_answered_on_closed_socket, open_pair,
          close_pair)
{
    const struct pair *pair = *state;
    say(pair, GOOD BAD);
    gives(pair, GOOD, 0);
    mhd_socket_answered(pair->server);
    close_socket(pair->server);
    mhd_socket_handle_due();
    client_has(pair, 0);
}

/* A sign for the library: its socket can be read, and is at its end. */
TEST_WITH(client_that_has_gone_is_reported_to_library, open_pair, close_pair)
{
    const struct pair *pair = *state;
    say(pair, GOOD BAD);
    shutdown(pair->client, SHUT_WR);
    gives(pair, GOOD, 0);
    mhd_socket_answered(pair->server);
    mhd_socket_handle_due();
    gives(pair, NULL, ECONNRESET);
    client_has(pair, 400);
}

TEST_WITH(draining_stops_at_its_limit, open_pair, close_pair)
{
    static const char zeros[60000];
    const struct pair *pair = *state;
    size_t sent = 0;
    say(pair, "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n");
    gives(pair, NULL, EAGAIN);
    client_has(pair, 413);
    while (sent + sizeof zeros <= MHD_SOCKET_DRAIN_MAX) {
        ssize_t size = write(pair->client, zeros, sizeof zeros);
        assert_true(size > 0);
        sent += (size_t)size;
        gives(pair, NULL, EAGAIN);
    }
    assert_true(write(pair->client, zeros, sizeof zeros) > 0);
    gives(pair, NULL, ECONNRESET);
}

TEST_WITH(peeks_and_unregistered_sockets_pass_through, open_pair, close_pair)
{
    const struct pair *pair = *state;
    char bytes[100];
    say(pair, BAD);
    assert_int_equal(__wrap_recv(pair->server, bytes, sizeof bytes, MSG_PEEK),
                     sizeof BAD - 1);
    client_has(pair, 0);
    close_socket(pair->server);
    gives(pair, BAD, 0);
    close_socket(pair->server);
    mhd_socket_answered(pair->server);
    assert_false(open_socket(-1));
    assert_false(open_socket(1 << 30));
    assert_int_equal(__wrap_recv(-1, bytes, sizeof bytes, 0), -1);
}

TEST_WITH(reopened_socket_starts_new_stream, open_pair, close_pair)
{
    const struct pair *pair = *state;
    say(pair, "GET /");
    gives(pair, "GET /", 0);
    assert_true(close_socket(pair->server));
    assert_false(close_socket(pair->server));
    assert_true(open_socket(pair->server));
    say(pair, GOOD);
    gives(pair, GOOD, 0);
}

TEST_WITH(socket_closed_by_library_is_unregistered, open_pair, close_pair)
{
    const struct pair *pair = *state;
    int fd = dup(pair->server);
    assert_true(open_socket(fd));
    assert_int_equal(close(fd), 0);
    assert_false(close_socket(fd));
}

/* From here on each deadline expires when it is set. */
static int open_late_pair(void **state)
{
    int failed = open_pair(state);
    http1_deadline_start(0, 0);
    return failed;
}

TEST_WITH(slow_head_is_answered_408, open_late_pair, close_pair)
{
    const struct pair *pair = *state;
    mhd_socket_handle_due();
    assert_int_equal(mhd_socket_timeout_ms(), -1);
    say(pair, "GET /");
    gives(pair, "GET /", 0);
    assert_int_equal(mhd_socket_timeout_ms(), 0);
    mhd_socket_handle_due();
    client_has(pair, 408);
    assert_int_equal(mhd_socket_timeout_ms(), -1);
    gives(pair, NULL, ECONNRESET);
}

TEST_WITH(slow_body_is_answered_408, open_late_pair, close_pair)
{
    const struct pair *pair = *state;
    say(pair, "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n1");
    gives(pair, "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n1", 0);
    mhd_socket_handle_due();
    client_has_text(pair, 408, "(--body-timeout)");
}

TEST_WITH(stalled_body_is_answered_408_when_cut, open_pair, close_pair)
{
    const struct pair *pair = *state;
    say(pair, PART);
    gives(pair, PART, 0);
    mhd_socket_cut(pair->server);
    client_has_text(pair, 408, "(--bodies-max, --requests-max)");
}

/* Settling continues as long as a deadline has expired: only those of the
 * others may be so short. */
TEST_WITH(deadline_waits_for_answers_to_earlier_requests, open_pair, close_pair)
{
    const struct pair *pair = *state;
    http1_deadline_start(60000, 60000);
    say(pair, GOOD "GET /");
    gives(pair, GOOD "GET /", 0);
    int left = mhd_socket_timeout_ms();
    assert_true(left > 0 && left <= 60001);
    mhd_socket_handle_due();
    client_has(pair, 0);
    mhd_socket_answered(pair->server);
    say(pair, " HTTP/1.1\r\nHost: h\r\n\r\n");
    gives(pair, " HTTP/1.1\r\nHost: h\r\n\r\n", 0);
    assert_int_equal(mhd_socket_timeout_ms(), -1);
}

enum { LINES = 300000, BODY = 300000, REPLY_ROOM = 1000000 };

/* Reads all that has arrived; returns its size. */
static size_t read_all(const struct pair *pair, char *out, size_t room)
{
    size_t size = 0;
    ssize_t got;
    while ((got = read(pair->client, out + size, room - size)) > 0)
        size += (size_t)got;
    return size;
}

/* Sends parts as the library does: what was not sent, again. Returns what the
 * client has read. */
static size_t send_as_library(const struct pair *pair, struct iovec *parts,
                              char *out)
{
    size_t read = 0, calls = 0;
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        errno = 0;
        ssize_t sent =
            parts[1].iov_len > 0
                ? __wrap_sendmsg(pair->server, &message, MSG_NOSIGNAL)
                : __wrap_send(pair->server, parts[0].iov_base, parts[0].iov_len,
                              MSG_NOSIGNAL);
        assert_true(sent > 0 || (sent < 0 && errno == EAGAIN));
        for (int i = 0; i < 2 && sent > 0; i++) {
            size_t size = (size_t)sent < parts[i].iov_len ? (size_t)sent
                                                          : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + size;
            parts[i].iov_len -= size;
            sent -= (ssize_t)size;
        }
        assert_int_equal(sent > 0, 0);
        read += read_all(pair, out + read, REPLY_ROOM - read);
        calls++;
    }
    assert_true(calls > 1);
    return read;
}

/* The client reads less at a time than the lines, or the body, have. */
TEST_WITH(lines_replace_blank_line, open_pair, close_pair)
{
    static const char start[] = "HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n";
    static char lines[LINES], body[BODY], got[REPLY_ROOM];
    const struct pair *pair = *state;
    const int room = 1;
    char head[100];
    memset(lines, 'l', sizeof lines);
    memset(body, 'b', sizeof body);
    snprintf(head, sizeof head, "%s\r\n", start);
    assert_int_equal(
        setsockopt(pair->server, SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
    fcntl(pair->client, F_SETFL, O_NONBLOCK);
    for (size_t body_size = 0; body_size <= BODY; body_size += BODY) {
        struct iovec parts[] = {{.iov_base = head, .iov_len = strlen(head)},
                                {.iov_base = body, .iov_len = body_size}};
        uint64_t before = mhd_socket_sent(pair->server);
        mhd_socket_add_lines(pair->server, kx_slice(lines, LINES));
        size_t size = send_as_library(pair, parts, got);
        assert_int_equal(size, strlen(start) + LINES + body_size);
        assert_int_equal(mhd_socket_sent(pair->server) - before, size);
        assert_memory_equal(got, start, strlen(start));
        assert_memory_equal(got + strlen(start), lines, LINES);
        assert_memory_equal(got + strlen(start) + LINES, body, body_size);
    }
}

/* Notes what the receiver gets. */
static void take(void *receiver, const struct connection *connection)
{
    *(int *)receiver = connection->fd;
}

/* The library shuts it down and closes it, and neither happens. */
TEST_WITH(transferred_socket_stays_open, open_pair, close_pair)
{
    const struct pair *pair = *state;
    struct connection connection;
    int taken = -1;
    say(pair, GOOD "GET /");
    gives(pair, GOOD "GET /", 0);
    mhd_socket_transfer(pair->server, take, &taken);
    assert_int_equal(__wrap_shutdown(pair->server, SHUT_WR), 0);
    assert_false(mhd_socket_close(pair->server, &connection));
    assert_int_equal(taken, -1);
    assert_int_equal(__wrap_close(pair->server), 0);
    assert_int_equal(taken, pair->server);
    assert_false(mhd_socket_close(pair->server, &connection));
    assert_int_equal(mhd_socket_timeout_ms(), -1);
    assert_int_equal(write(pair->server, "more", 4), 4);
    char bytes[8];
    assert_int_equal(read(pair->client, bytes, sizeof bytes), 4);
}
