/* A turn of the loop that has lasted too long: requests and answers that come
 * later in it wait for their turns, in which clients are served in rotation. */
#include "exchange_house.h"

#include <arpa/inet.h>
#include <poll.h>

#include "exchange/charge.h"
#include "exchange/exchange_loop.h"

enum { REQUESTS = 100, KEYS = 200 };

/* From here on the time of this turn of the loop is used up. */
static void make_busy(void)
{
    exchange_loop_begin(&house->queue, 0);
    house->queue.begin_left_ns = 0;
}

static struct tenant *client_at(const char *address)
{
    struct sockaddr_in peer = {.sin_family = AF_INET};
    struct sockaddr_storage storage = {0};
    inet_pton(AF_INET, address, &peer.sin_addr);
    memcpy(&storage, &peer, sizeof peer);
    return tenant_connect(house->service.tenants, &storage);
}

static const char *many_keys(void)
{
    char *text = talloc_strdup(house->mem, "{\"keys\":[[\"a\"]");
    for (int i = 1; i < KEYS; i++)
        text = talloc_strdup_append(text, ",[\"b\"]");
    return talloc_strdup_append(text, "]}");
}

TEST_WITH(requests_of_one_client_delay_another_by_few_of_them, begin_house,
          finish_house)
{
    struct exchange *exchanges[REQUESTS];
    struct kx_slice body = kx_text(many_keys());
    house->client = client_at("10.0.0.1");
    make_busy();
    for (int i = 0; i < REQUESTS; i++)
        exchanges[i] = start(METHOD_POST, "/get", body, EXCHANGE_PARK);
    struct tenant *first = house->client;
    house->client = client_at("10.0.0.2");
    struct exchange *other = get("/livez", EXCHANGE_PARK);
    while (other->phase != EXCHANGE_READY)
        assert_true(exchange_loop_turns(&house->queue));
    assert_true(house->ready < REQUESTS / 2);
    assert_reply(other, 200, "true");
    wait_for_ready(REQUESTS + 1);
    for (int i = 0; i < REQUESTS; i++)
        assert_reply(exchanges[i], 200, "\"entries\"");
    tenant_disconnect(house->service.tenants, first);
    tenant_disconnect(house->service.tenants, house->client);
}

/* The answer is in the list of the queue. */
static void await_answer(void)
{
    struct pollfd answers = {.fd = house->queue.answers_fd, .events = POLLIN};
    poll(&answers, 1, -1);
    exchange_loop_answers(&house->queue);
}

/* The turn has been long, but no handler has taken any of its time. */
TEST_WITH(handler_begins_in_a_turn_without_others, begin_house, finish_house)
{
    exchange_loop_begin(&house->queue, 0);
    assert_reply(get("/livez", EXCHANGE_REPLY), 200, "true");
}

/* Requests of the client wait, and one of them has taken several turns' time:
 * no further one begins beside those that wait. */
TEST_WITH(handler_of_a_client_that_owes_time_waits, begin_house, finish_house)
{
    const struct kx_slice none = kx_slice(NULL, 0);
    struct tenant *first = house->client = client_at("10.0.0.1");
    make_busy();
    struct exchange *waiting = start(METHOD_GET, "/livez", none, EXCHANGE_PARK);
    first->turns[house->queue.number].left_ns = -(int64_t)TURN_NS;
    exchange_loop_begin(&house->queue, 0);
    struct exchange *own = start(METHOD_GET, "/livez", none, EXCHANGE_PARK);
    house->client = client_at("10.0.0.2");
    assert_reply(start(METHOD_GET, "/livez", none, EXCHANGE_REPLY), 200,
                 "true");
    wait_for_ready(2);
    assert_reply(waiting, 200, "true");
    assert_reply(own, 200, "true");
    tenant_disconnect(house->service.tenants, first);
    tenant_disconnect(house->service.tenants, house->client);
}

TEST_WITH(answers_wait_for_their_turns, begin_house, finish_house)
{
    struct exchange *exchange =
        start(METHOD_PUT, "/kv/c", kx_text("3"), EXCHANGE_PARK);
    make_busy();
    await_answer();
    assert_int_equal(exchange->awaits, AWAITS_COMMIT);
    assert_int_equal(house->ready, 0);
    assert_true(exchange_loop_turns(&house->queue));
    assert_int_equal(house->ready, 1);
    assert_reply(exchange, 201, "\"ok\":true");
}

TEST_WITH(answered_commit_is_reported_when_the_server_stops, begin_house,
          finish_house)
{
    struct exchange *exchange =
        start(METHOD_PUT, "/kv/c", kx_text("3"), EXCHANGE_PARK);
    make_busy();
    await_answer();
    exchange_loop_abandon(&house->queue);
    assert_reply(exchange, 201, "\"ok\":true");
}

TEST_WITH(handlers_that_have_not_begun_answer_503_at_stop, begin_house,
          finish_house)
{
    make_busy();
    struct exchange *exchange = get("/kv/a", EXCHANGE_PARK);
    exchange_loop_abandon(&house->queue);
    assert_int_equal(house->ready, 1);
    assert_reply(exchange, 503, "stopping");
}

TEST_WITH(client_that_left_before_its_turn_is_not_served, begin_house,
          finish_house)
{
    make_busy();
    struct exchange *exchange =
        start(METHOD_PUT, "/kv/c", kx_text("3"), EXCHANGE_PARK);
    exchange_cancel(exchange);
    assert_true(exchange_loop_turns(&house->queue));
    assert_int_equal(house->ready, 1);
    assert_int_equal(exchange->reply.status, 0);
    exchange_end(exchange);
}
