/* Requests in front of a store that only workers read, while no view can
 * be had, as it is when the test holds it in the writer's place: as while a
 * batch is on its way to a database that does not answer.
 */
#include "exchange_house.h"

#include "commit/store_state.h"
#include "exchange/exchange_loop.h"
#include "exchange/workers.h"

static struct view *view;

static int begin_one_worker(void **state)
{
    house_read_workers = 1;
    house_shared = true;
    begin_house(state);
    view = &house->test.store->view;
    return 0;
}

TEST_WITH(cached_entry_is_answered_by_the_loop, begin_one_worker, finish_house)
{
    struct exchange *exchange = get("/kv/a", EXCHANGE_PARK);
    wait_for_ready(1);
    assert_reply(exchange, 200, "1");
    view_apply_begin(view);
    assert_reply(get("/kv/a", EXCHANGE_REPLY), 200, "1");
    assert_reply(get("/livez", EXCHANGE_REPLY), 200, "");
    assert_reply(get("/readyz", EXCHANGE_REPLY), 200, "");
    assert_int_equal(house->ready, 1);
    view_apply_cancel(view);
}

/* The change of the catalog keeps even reads of cached entries out. */
TEST_WITH(loop_never_waits_for_a_batch_that_publishes, begin_one_worker,
          finish_house)
{
    view_apply_begin(view);
    view_publish(view);
    struct exchange *exchange = get("/kv/a", EXCHANGE_PARK);
    assert_reply(get("/livez", EXCHANGE_REPLY), 200, "");
    assert_int_equal(house->ready, 0);
    view_apply_cancel(view);
    wait_for_ready(1);
    assert_reply(exchange, 200, "1");
}

TEST_WITH(reads_of_rows_continue_when_the_view_opens, begin_one_worker,
          finish_house)
{
    static const struct {
        const char *target;
        int status;
        const char *text;
    } reads[] = {
        {"/kv/b", 200, "2"},
        {"/kv/none", 404, "key-not-found"},
        {"/list", 200, "\"value\":2"},
        {"/count", 200, "\"count\":2"},
        {"/indexes/none", 404, "index-not-found"},
        {"/metrics", 200, "kindex_index_state"},
    };
    enum { READS = sizeof reads / sizeof *reads };
    struct exchange *exchanges[READS];
    view_apply_begin(view);
    for (size_t i = 0; i < READS; i++)
        exchanges[i] = get(reads[i].target, EXCHANGE_PARK);
    assert_int_equal(house->ready, 0);
    view_apply_cancel(view);
    wait_for_ready(READS);
    for (size_t i = 0; i < READS; i++)
        assert_reply(exchanges[i], reads[i].status, reads[i].text);
    assert_int_equal(house->queue.awaited, 0);
    assert_int_equal(atomic_load(&view->retries), 0);
    view_apply_begin(view); /* no view was left open */
    view_apply_cancel(view);
}

/* The view stays closed until the replies are there. */
TEST_WITH(reads_that_wait_too_long_are_answered_without_rows, begin_one_worker,
          finish_house)
{
    char chunk[64];
    size_t size;
    house->accept = "application/x-ndjson";
    struct exchange *stream = get("/list", EXCHANGE_PARK);
    wait_for_ready(1);
    house->accept = NULL;
    assert_non_null(stream->reply.stream);
    view_apply_begin(view);
    assert_int_equal(exchange_chunk(stream, chunk, sizeof chunk, &size),
                     CHUNK_PARK);
    uint64_t from_ns = kx_monotonic_ns();
    struct exchange *list = get("/list", EXCHANGE_PARK);
    struct exchange *ready = get("/readyz?verbose=true", EXCHANGE_PARK);
    struct exchange *metrics = get("/metrics", EXCHANGE_PARK);
    wait_for_ready(3); /* those that need no rows are the first */
    assert_reply(ready, 200, "did not answer in time");
    assert_reply(metrics, 200, "kindex_build_info");
    wait_for_ready(5);
    assert_true(kx_monotonic_ns() - from_ns >= (uint64_t)READ_MS * KX_MS_NS);
    view_apply_cancel(view);
    assert_reply(list, 503, "database-unreachable");
    assert_int_equal(exchange_chunk(stream, chunk, sizeof chunk, &size),
                     CHUNK_BROKEN);
    exchange_end(stream);
}

static void send_too_many(const char *target)
{
    enum { SENT = READ_QUEUE_MAX + 1 };
    static struct exchange *exchanges[SENT];
    view_apply_begin(view);
    /* The worker has the first one, or will. */
    for (size_t i = 0; i < READ_QUEUE_MAX; i++)
        exchanges[i] = get(target, EXCHANGE_PARK);
    exchanges[READ_QUEUE_MAX] =
        begin_request(METHOD_GET, target, kx_slice(NULL, 0));
    enum exchange_next next = exchange_run(exchanges[READ_QUEUE_MAX]);
    size_t parked = READ_QUEUE_MAX + (next == EXCHANGE_PARK);
    struct exchange *last = next == EXCHANGE_PARK ? get(target, EXCHANGE_REPLY)
                                                  : exchanges[READ_QUEUE_MAX];
    assert_string_equal(last->reply.headers[0].name, "Retry-After");
    assert_reply(last, 503, "overloaded");
    assert_int_equal(house->ready, 0);
    assert_reply(get("/livez", EXCHANGE_REPLY), 200, "");
    view_apply_cancel(view);
    wait_for_ready((unsigned)parked);
    for (size_t i = 0; i < parked; i++)
        exchange_end(exchanges[i]);
}

TEST_WITH(counts_beyond_the_queue_are_refused_at_once, begin_one_worker,
          finish_house)
{
    send_too_many("/count");
}

/* A get is tried in memory first, which does not begin it. */
TEST_WITH(gets_beyond_the_queue_are_refused_at_once, begin_one_worker,
          finish_house)
{
    send_too_many("/kv/none");
}

/* The client leaves while a worker opens the watch: the core must not keep its
 * ticket. */
TEST_WITH(watch_whose_client_left_is_closed, begin_one_worker, finish_house)
{
    char chunk[512];
    size_t size;
    struct exchange *watch = get("/watch?key=a", EXCHANGE_PARK);
    wait_for_ready(1);
    assert_int_equal(exchange_chunk(watch, chunk, sizeof chunk, &size),
                     CHUNK_PARK);
    wait_for_ready(2);
    assert_int_equal(exchange_chunk(watch, chunk, sizeof chunk, &size),
                     CHUNK_DATA);
    view_apply_begin(view);
    exchange_loop_turns(&house->queue); /* it may slice */
    assert_int_equal(exchange_chunk(watch, chunk, sizeof chunk, &size),
                     CHUNK_PARK);
    assert_int_equal(watch->awaits, AWAITS_WORKER);
    exchange_cancel(watch);
    assert_int_equal(house->ready, 2);
    view_apply_cancel(view);
    wait_for_ready(3);
    exchange_end(watch);
    assert_int_equal(house->queue.awaited, 0);
}
