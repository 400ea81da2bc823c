/* A reply that a handler sends part by part: POST /bulk, of which each
 * commit is a part. */
#include "exchange_house.h"

#include "exchange/exchange_loop.h"

enum { LINES = 2500, FIRST = 1000, LINE_MAX = 48 };

/* Lines with the keys 0 to LINES - 1. */
static struct kx_slice lines(void)
{
    char *text = talloc_array(house->mem, char, LINES *LINE_MAX);
    size_t size = 0;
    for (int i = 0; i < LINES; i++)
        size +=
            (size_t)snprintf(text + size, LINE_MAX,
                             "{\"key\":[\"k\",%d],\"value\":\"value\"}\n", i);
    return kx_slice(text, size);
}

/* The first part is complete, and no other is begun. */
static struct exchange *send_lines(void)
{
    struct exchange *exchange =
        start(METHOD_POST, "/bulk", lines(), EXCHANGE_PARK);
    wait_for_ready(1);
    return exchange;
}

/* Returns the text that the protocol side would send next, or "" when it
 * parks. */
static const char *next(struct exchange *exchange, enum exchange_chunk *how)
{
    char text[1024];
    size_t size = 0;
    *how = exchange_chunk(exchange, text, sizeof text, &size);
    return talloc_strndup(house->mem, text, size);
}

static void assert_next(struct exchange *exchange, const char *part)
{
    enum exchange_chunk how;
    const char *text = next(exchange, &how);
    assert_int_equal(how, CHUNK_DATA);
    if (strstr(text, part) == NULL)
        fail_msg("%s", text);
}

static void assert_parks(struct exchange *exchange)
{
    enum exchange_chunk how;
    next(exchange, &how);
    assert_int_equal(how, CHUNK_PARK);
    assert_int_equal(exchange->awaits, AWAITS_TURN);
}

static void assert_ends(struct exchange *exchange)
{
    enum exchange_chunk how;
    next(exchange, &how);
    assert_int_equal(how, CHUNK_END);
    assert_int_equal(exchange->reply.status, 200);
    exchange_end(exchange);
    assert_int_equal(house->queue.awaited, 0);
    assert_int_equal(house->queue.in_flight, 0);
}

static size_t stored(void)
{
    const struct kx_range all = {.start = kx_slice(NULL, 0)};
    return test_count(&house->test, &all) - 2; /* those of the house */
}

TEST_WITH(bulk_commits_next_part_when_last_was_sent, begin_house, finish_house)
{
    struct exchange *exchange = send_lines();
    assert_next(exchange, "{\"lines\":1000,");
    assert_int_equal(stored(), FIRST);
    for (unsigned part = 2; part <= 3; part++) {
        assert_parks(exchange);
        wait_for_ready(part);
        assert_next(exchange, part == 2 ? "{\"lines\":2000," : "{\"end\":true");
    }
    assert_int_equal(stored(), LINES);
    assert_ends(exchange);
}

TEST_WITH(bulk_reply_ends_with_error_when_server_stops, begin_house,
          finish_house)
{
    struct exchange *exchange = send_lines();
    assert_next(exchange, "{\"lines\":1000,");
    assert_parks(exchange);
    house->service.stopping = true;
    wait_for_ready(2);
    assert_next(exchange, "{\"error\":{\"type\":\"/problems/stopping\"");
    assert_ends(exchange);
    assert_int_equal(stored(), FIRST);
}

TEST_WITH(bulk_reply_that_is_abandoned_says_what_is_stored, begin_house,
          finish_house)
{
    struct exchange *exchange = send_lines();
    assert_next(exchange, "{\"lines\":1000,");
    assert_parks(exchange);
    exchange_loop_abandon(&house->queue);
    assert_int_equal(house->ready, 2);
    assert_next(exchange, "\"lines\":1000,\"stored\":1000}\n");
    assert_ends(exchange);
    assert_int_equal(stored(), FIRST);
}

TEST_WITH(bulk_reply_ends_with_error_when_memory_is_short, begin_house,
          finish_house)
{
    struct exchange *exchange = send_lines();
    assert_next(exchange, "{\"lines\":1000,");
    assert_parks(exchange);
    house->options.bodies_max = 1024;
    wait_for_ready(2);
    assert_next(exchange, "{\"error\":{\"type\":\"/problems/overloaded\"");
    assert_ends(exchange);
    assert_int_equal(stored(), FIRST);
}

TEST_WITH(bulk_stores_nothing_more_after_its_client_left, begin_house,
          finish_house)
{
    struct exchange *exchange = send_lines();
    assert_next(exchange, "{\"lines\":1000,");
    assert_parks(exchange);
    exchange_cancel(exchange);
    exchange_loop_turns(&house->queue);
    assert_int_equal(house->ready, 2);
    exchange_end(exchange);
    assert_int_equal(house->queue.awaited, 0);
    assert_int_equal(stored(), FIRST);
}

TEST_WITH(bulk_with_wrong_first_line_gets_a_whole_reply, begin_house,
          finish_house)
{
    struct exchange *exchange =
        start(METHOD_POST, "/bulk", kx_text("{}\n{}"), EXCHANGE_REPLY);
    assert_null(exchange->parts);
    assert_reply(exchange, 400, "\"line\":1");
}
