/* Requests to a node that is not active, which the active one answers. */
#include "forward_house.h"

#include <errno.h>
#include <sys/epoll.h>

#include "forward/transfer.h"
#include "all_memory.h"

static const struct kx_slice NOTHING = {NULL, 0};

enum { MANY = 1 << 20 };

/* JSON of so many bytes. */
static struct kx_slice many(size_t size)
{
    char *text = talloc_array(house->mem, char, size);
    memset(text, '7', size);
    if (size > 1)
        text[0] = text[size - 1] = '"';
    return kx_slice(text, size);
}

static void expect(enum method method, const char *target, const char *body,
                   int status, const char *text)
{
    struct exchange *exchange = ask(method, target, kx_text(body));
    assert_null(exchange->reply.stream);
    assert_reply(exchange, status, text);
}

static const char *header_of(const struct exchange *exchange, const char *name)
{
    for (size_t i = 0; i < exchange->reply.header_count; i++)
        if (strcasecmp(exchange->reply.headers[i].name, name) == 0)
            return exchange->reply.headers[i].value;
    return NULL;
}

TEST_WITH(forward_answers_every_method, begin_nodes, finish_nodes)
{
    expect(METHOD_PUT, "/kv/x/a%2Fb", "{\"n\":1}", 201, "");
    expect(METHOD_GET, "/kv/x/a%2Fb", "", 200, "{\"n\":1}");
    expect(METHOD_PUT, "/kv/x/a%2Fb", "{\"n\":2}", 200, "");
    expect(METHOD_POST, "/get", "{\"keys\":[[\"x\",\"a/b\"]]}", 200, "\"n\":2");
    expect(METHOD_DELETE, "/kv/x/a%2Fb", "", 204, "");
    expect(METHOD_GET, "/kv/x/a%2Fb", "", 404, "key-not-found");
    expect(METHOD_GET, "/list?limit=x", "", 400, "bad-parameter");
    assert_int_equal(house->service.counters.forwarded[FORWARDED_ANSWERED], 7);
}

TEST_WITH(forward_passes_headers_of_the_answer_on, begin_nodes, finish_nodes)
{
    struct exchange *exchange = ask(METHOD_PUT, "/kv/a", kx_text("1"));
    const char *etag = talloc_strdup(house->mem, header_of(exchange, "ETag"));
    assert_reply(exchange, 201, "");
    exchange = ask(METHOD_GET, "/kv/a", NOTHING);
    assert_string_equal(header_of(exchange, "ETag"), etag);
    assert_string_equal(exchange->reply.content_type, "application/json");
    assert_string_equal(header_of(exchange, "Cross-Origin-Resource-Policy"),
                        "same-origin");
    assert_null(header_of(exchange, "Date"));
    assert_null(header_of(exchange, "Content-Length"));
    for (size_t i = 0; i < exchange->reply.header_count; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(exchange->reply.headers[i].name,
                                    exchange->reply.headers[k].name);
    assert_reply(exchange, 200, "1");
}

TEST_WITH(forward_passes_bodies_of_any_size_both_ways, begin_nodes,
          finish_nodes)
{
    static const size_t SIZES[] = {1, 4096, 64 * 1024, 64 * 1024 + 1, MANY};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        struct kx_slice body = many(SIZES[i]);
        assert_reply(ask(METHOD_PUT, "/kv/b", body), i == 0 ? 201 : 200, "");
        struct exchange *exchange = ask(METHOD_GET, "/kv/b", NOTHING);
        bool streamed = exchange->reply.stream != NULL;
        assert_true(!streamed || SIZES[i] > TRANSFER_PIECE);
        assert_true(streamed || SIZES[i] < MANY);
        assert_true(!streamed || exchange->reply.stream->size == SIZES[i]);
        struct kx_slice got =
            streamed ? read_all(exchange) : reply_bytes(&exchange->reply);
        assert_true(kx_equal(got, body));
        exchange_end(exchange);
    }
    assert_reply(ask(METHOD_PUT, "/kv/b", NOTHING), 400, "bad-json");
}

TEST_WITH(forwarded_head_has_length_without_body, begin_nodes, finish_nodes)
{
    static const size_t SIZES[] = {1, MANY};
    for (size_t i = 0; i < 2; i++) {
        exchange_end(ask(METHOD_PUT, "/kv/h", many(SIZES[i])));
        struct exchange *exchange = ask(METHOD_HEAD, "/kv/h", NOTHING);
        assert_int_equal(exchange->reply.status, 200);
        assert_int_equal(exchange->reply.stream->size, SIZES[i]);
        assert_non_null(header_of(exchange, "ETag"));
        exchange_end(exchange);
    }
    struct exchange *exchange = ask(METHOD_HEAD, "/watch?key=h", NOTHING);
    assert_int_equal(exchange->reply.status, 200);
    assert_int_equal(exchange->reply.stream->size, 0);
    exchange_end(exchange);
    assert_reply(ask(METHOD_HEAD, "/kv/none", NOTHING), 404, "");
}

/* Taken chunk by chunk until it parks, or `until` has come. */
static const char *come(struct exchange *exchange, const char *until)
{
    struct kx_buffer all;
    kx_buffer_init(&all, house->mem);
    for (;;) {
        char piece[4096];
        size_t size = 0;
        unsigned ready = house->ready;
        enum exchange_chunk how =
            exchange_chunk(exchange, piece, sizeof piece, &size);
        kx_add(&all, piece, size);
        kx_add_byte(&all, 0);
        all.size--;
        if (strstr((const char *)all.data, until) != NULL)
            return (const char *)all.data;
        assert_true(how == CHUNK_DATA || how == CHUNK_PARK);
        if (how == CHUNK_PARK)
            wait_for_answers(ready + 1);
    }
}

TEST_WITH(forwarded_watch_passes_events_on, begin_nodes, finish_nodes)
{
    exchange_end(ask(METHOD_PUT, "/kv/w", kx_text("1")));
    struct exchange *watch = ask(METHOD_GET, "/watch?key=w", NOTHING);
    assert_int_equal(watch->reply.status, 200);
    assert_true(watch->reply.stream->lasting);
    assert_string_equal(watch->reply.content_type, "text/event-stream");
    come(watch, "\"value\":1");
    for (int n = 2; n < 5; n++) {
        const char *value = talloc_asprintf(house->mem, "%d", n);
        expect(METHOD_PUT, "/kv/w", value, 200, "");
        come(watch, talloc_asprintf(house->mem, "\"value\":%d", n));
    }
    exchange_end(watch);
}

TEST_WITH(forwarded_list_is_complete_at_the_speed_of_its_client, begin_nodes,
          finish_nodes)
{
    for (int n = 0; n < 8; n++) {
        char key[24];
        snprintf(key, sizeof key, "/kv/l/%d", n);
        exchange_end(ask(METHOD_PUT, key, many(MANY / 2)));
    }
    struct exchange *exchange =
        ask(METHOD_GET, "/list?prefix=l&limit=1000", NOTHING);
    const struct transfer *transfer = exchange->request.wait.source;
    assert_non_null(exchange->reply.stream);
    while (!transfer->paused)
        work();
    for (int n = 0; n < 100; n++)
        work();
    assert_in_range(transfer->data.size, TRANSFER_PIECE, 2 * TRANSFER_PIECE);
    struct kx_slice body = read_all(exchange);
    struct kx_fault fault;
    assert_in_range(body.size, 4 << 20, 5 << 20);
    assert_int_equal(kx_json_check_document(body, &fault), KX_OK);
    exchange_end(exchange);
}

TEST_WITH(forward_aborts_when_client_disconnects, begin_nodes, finish_nodes)
{
    struct exchange *exchange =
        start(METHOD_PUT, "/kv/g", kx_text("1"), EXCHANGE_PARK);
    exchange_cancel(exchange);
    assert_int_equal(house->ready, 1);
    exchange_end(exchange);
    assert_int_equal(nodes->forward->requests, 0);
    exchange = ask(METHOD_GET, "/watch?prefix=g", NOTHING);
    exchange_end(exchange);
    assert_int_equal(nodes->forward->requests, 0);
    work();
}

TEST_WITH(forwarded_request_is_not_forwarded_again, begin_nodes, finish_nodes)
{
    house->hop = "1";
    struct exchange *exchange =
        start(METHOD_GET, "/kv/a", NOTHING, EXCHANGE_REPLY);
    assert_string_equal(header_of(exchange, "Retry-After"), "1");
    assert_reply(exchange, 503, "no-active-node");
}

TEST_WITH(forward_answers_no_active_node, begin_nodes, finish_nodes)
{
    know(NULL);
    struct exchange *exchange =
        start(METHOD_PUT, "/kv/a", kx_text("1"), EXCHANGE_REPLY);
    assert_reply(exchange, 503, "no-active-node");
    know("http://127.0.0.1:1");
    exchange = ask(METHOD_PUT, "/kv/a", kx_text("1"));
    assert_string_equal(header_of(exchange, "Retry-After"), "1");
    assert_reply(exchange, 503, "no-active-node");
    assert_int_equal(house->service.counters.forwarded[FORWARDED_UNREACHABLE],
                     1);
}

TEST_WITH(closed_connection_answers_commit_unknown, begin_nodes, finish_nodes)
{
    struct rude_peer peer = {.unanswered = 2};
    rude_peer_start(&peer);
    struct exchange *exchange = ask(METHOD_PUT, "/kv/a", kx_text("1"));
    assert_string_equal(header_of(exchange, "Retry-After"), "2");
    assert_reply(exchange, 503, "commit-unknown");
    assert_reply(ask(METHOD_GET, "/kv/a", NOTHING), 503, "no-active-node");
    rude_peer_join(&peer);
    assert_int_equal(peer.seen, 2);
    assert_int_equal(house->service.counters.forwarded[FORWARDED_UNANSWERED],
                     2);
}

static void assert_no_content(enum method method)
{
    struct exchange *exchange = ask(method, "/kv/a", NOTHING);
    assert_int_equal(exchange->reply.status, 204);
    assert_int_equal(reply_bytes(&exchange->reply).size, 0);
    exchange_end(exchange);
}

/* libcurl would send it once more by itself, as it does with the GET. */
TEST_WITH(forward_sends_write_once_over_kept_connection, begin_nodes,
          finish_nodes)
{
    struct rude_peer writes = {.answered = 1, .unanswered = 1};
    struct rude_peer reads = {.answered = 1, .unanswered = 2};
    rude_peer_start(&writes);
    assert_no_content(METHOD_DELETE);
    assert_reply(ask(METHOD_DELETE, "/kv/a", NOTHING), 503, "commit-unknown");
    rude_peer_join(&writes);
    assert_int_equal(writes.seen, 2);
    rude_peer_start(&reads);
    assert_no_content(METHOD_GET);
    assert_no_content(METHOD_GET);
    rude_peer_join(&reads);
    assert_int_equal(reads.seen, 3);
}

TEST_WITH(forward_keeps_connections, begin_nodes, finish_nodes)
{
    for (int n = 0; n < 20; n++)
        expect(METHOD_PUT, "/kv/k", "1", n == 0 ? 201 : 200, "");
    assert_int_equal(nodes->service.counters.connections_accepted, 1);
}

TEST_WITH(forward_stops_waiting_when_another_node_becomes_active, begin_nodes,
          finish_nodes)
{
    struct exchange *watch = ask(METHOD_GET, "/watch?key=w", NOTHING);
    come(watch, "event:");
    know("http://127.0.0.1:1");
    read_all(watch);
    exchange_end(watch);
}

TEST_WITH(forward_refuses_requests_beyond_its_limit, begin_nodes, finish_nodes)
{
    nodes->forward->lasting += FORWARD_LASTING_MAX;
    struct exchange *exchange =
        start(METHOD_GET, "/watch?key=w", NOTHING, EXCHANGE_REPLY);
    assert_reply(exchange, 503, "overloaded");
    nodes->forward->lasting -= FORWARD_LASTING_MAX;
    nodes->forward->requests += FORWARD_REQUESTS_MAX;
    exchange = start(METHOD_GET, "/kv/a", NOTHING, EXCHANGE_REPLY);
    assert_reply(exchange, 503, "overloaded");
    nodes->forward->requests -= FORWARD_REQUESTS_MAX;
    assert_int_equal(house->service.counters.forwarded[FORWARDED_REFUSED], 2);
}

TEST_WITH(forwarded_watch_ends_when_active_node_stops, begin_nodes,
          finish_nodes)
{
    struct exchange *watch = ask(METHOD_GET, "/watch?key=w", NOTHING);
    come(watch, "event:");
    house->service.stopping = true;
    struct kx_slice rest = read_all(watch);
    assert_int_equal(rest.size, 0);
    exchange_end(watch);
}

/* ---- Without memory ----------------------------------------------------- */

static bool watches_fail; /* epoll takes no further socket of the node */

int __real_epoll_ctl(int epoll_fd, int change, int fd, struct epoll_event *);
int __wrap_epoll_ctl(int epoll_fd, int change, int fd,
                     struct epoll_event *event);
int __wrap_epoll_ctl(int epoll_fd, int change, int fd,
                     struct epoll_event *event)
{
    if (!watches_fail || epoll_fd != nodes->epoll_fd || change == EPOLL_CTL_DEL)
        return __real_epoll_ctl(epoll_fd, change, fd, event);
    errno = ENOMEM;
    return -1;
}

TEST_WITH(unwatchable_socket_ends_only_its_own_transfer, begin_nodes,
          finish_nodes)
{
    struct exchange *watch = ask(METHOD_GET, "/watch?key=w", NOTHING);
    come(watch, "event:");
    watches_fail = true;
    assert_reply(ask(METHOD_PUT, "/kv/w", kx_text("1")), 503, "no-active-node");
    watches_fail = false;
    expect(METHOD_PUT, "/kv/w", "1", 201, "");
    come(watch, "\"value\":1");
    exchange_end(watch);
}

/* Uses up the pool in which a request's memory begins, because allocations
 * from it have no limit. */
static void *fill(void *memory)
{
    void *filled = talloc_new(memory);
    for (int n = 0; n < 256; n++)
        assert_non_null(talloc_size(filled, 1));
    return filled;
}

/* From each allocation of the request's memory on, all fail. */
TEST_WITH(forward_answers_when_memory_runs_out, begin_nodes, finish_nodes)
{
    size_t refused = 0;
    bool done = false;
    for (size_t spare = 1; !done; spare += 64) {
        unsigned ready = house->ready;
        struct exchange *exchange =
            begin_request(METHOD_GET, "/kv/none", NOTHING);
        void *memory = exchange->request.memory;
        void *filled = fill(memory);
        all_memory_limit(filled, talloc_total_size(memory) + spare);
        if (exchange_run(exchange) == EXCHANGE_PARK)
            wait_for_answers(ready + 1);
        all_memory_limit(filled, 0);
        done = exchange->reply.status == 404;
        assert_true(done || exchange->reply.status == 503);
        refused += done ? 0 : 1;
        exchange_end(exchange);
        assert_int_equal(nodes->forward->requests, 0);
    }
    assert_true(refused > 10);
}
