/* Requests while the view is closed, as it is when the test holds it in the
 * writer's place: those that need no view are answered, and those that do wait
 * without keeping their thread, until it opens.
 */
#include "store.h"

#include <poll.h>

#include "exchange/exchange.h"
#include "exchange/exchange_loop.h"
#include "config/options.h"
#include "commit/store_state.h"
#include "server/routes.h"

struct house {
    struct test_store test;
    void *mem;
    struct options options;
    struct service service;
    struct run_queue queue;
    const char *accept;
    unsigned ready; /* exchanges that were continued to their reply */
};

static struct house *house; /* of the present test */

static void to_the_queue(void *context, struct kx_ticket *first)
{
    struct house *target = context;
    run_queue_put(&target->queue, first);
}

static const char *header(const struct request *request, const char *name)
{
    (void)request;
    return strcmp(name, "Accept") == 0 ? house->accept : NULL;
}

static void note_ready(struct exchange *exchange)
{
    (void)exchange;
    house->ready++;
}

static const struct exchange_protocol PROTOCOL = {.ready = note_ready};

static int begin_house(void **state)
{
    char *arguments[] = {"test", NULL};
    house = talloc_zero(NULL, struct house);
    house->mem = talloc_new(house);
    test_store_new(&house->test);
    test_set(&house->test, house->mem, "[\"a\"]", "1");
    test_set(&house->test, house->mem, "[\"b\"]", "2");
    test_store_close(&house->test);
    house->test.options.answer = to_the_queue;
    house->test.options.answer_context = house;
    test_store_open(&house->test);
    kx_log_level(KX_LOG_ERROR);
    assert_true(options_read(&house->options, 1, arguments));
    house->options.listen.all[0].loopback = false; /* it has whatever name */
    house->service.options = &house->options;
    house->service.routes = &ROUTES;
    house->service.store = house->test.store;
    house->service.counters.connections = 2; /* no request is alone */
    assert_true(run_queue_open(&house->queue, &house->service, 0));
    *state = house;
    return 0;
}

static int finish_house(void **state)
{
    (void)state;
    run_queue_close(&house->queue);
    test_store_remove(&house->test);
    return talloc_free(house);
}

static struct exchange *start(enum method method, const char *target,
                              enum exchange_next next)
{
    struct exchange *exchange = exchange_begin(&house->queue, NULL);
    assert_non_null(exchange);
    exchange_target(exchange, target, strlen(target));
    exchange->request.method = method;
    exchange->request.header = header;
    exchange->protocol = &PROTOCOL;
    exchange_open(exchange, 0);
    assert_int_equal(exchange_run(exchange), next);
    return exchange;
}

/* Its whole reply. */
static void assert_reply(struct exchange *exchange, int status,
                         const char *text)
{
    struct kx_slice body = reply_bytes(&exchange->reply);
    char *all = talloc_strndup(house->mem, (const char *)body.data, body.size);
    assert_int_equal(exchange->reply.status, status);
    if (strstr(all, text) == NULL)
        fail_msg("%s", all);
    exchange_end(exchange);
}

/* Lets the queue work until so many exchanges are ready. */
static void wait_for(unsigned ready)
{
    struct pollfd answers = {.fd = house->queue.answers_fd, .events = POLLIN};
    while (house->ready < ready) {
        poll(&answers, 1, -1);
        exchange_loop_answers(&house->queue);
    }
}

static void what_needs_no_view_is_answered(void **state)
{
    struct view *view = &house->test.store->view;
    (void)state;
    assert_reply(start(METHOD_GET, "/kv/a", EXCHANGE_REPLY), 200, "1");
    view_apply_begin(view);
    assert_reply(start(METHOD_GET, "/livez", EXCHANGE_REPLY), 200, "");
    assert_reply(start(METHOD_GET, "/kv/a", EXCHANGE_REPLY), 200, "1");
    assert_reply(start(METHOD_GET, "/version", EXCHANGE_REPLY), 200, "");
    view_apply_cancel(view);
    assert_int_equal(house->ready, 0);
}

static void what_needs_one_goes_on_when_it_can_have_it(void **state)
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
        {"/indexes", 200, "[]"},
        {"/indexes/none", 404, "index-not-found"},
        {"/readyz", 200, "ok"},
        {"/metrics", 200, "kindex_build_info"},
    };
    enum { READS = sizeof reads / sizeof *reads };
    struct exchange *exchanges[READS];
    struct view *view = &house->test.store->view;
    (void)state;
    view_apply_begin(view);
    for (size_t i = 0; i < READS; i++)
        exchanges[i] = start(METHOD_GET, reads[i].target, EXCHANGE_PARK);
    assert_false(exchange_loop_answers(&house->queue));
    assert_int_equal(house->ready, 0);
    assert_reply(start(METHOD_GET, "/livez", EXCHANGE_REPLY), 200, "");
    view_apply_cancel(view);
    wait_for(READS);
    for (size_t i = 0; i < READS; i++)
        assert_reply(exchanges[i], reads[i].status, reads[i].text);
    assert_int_equal(house->queue.awaited, 0);
    assert_int_equal(atomic_load(&view->owed), 0);
    view_apply_begin(view); /* no view was left open */
    view_apply_cancel(view);
}

static void a_list_that_is_a_stream_waits_for_its_chunks(void **state)
{
    struct view *view = &house->test.store->view;
    char chunk[512];
    size_t size = 0;
    (void)state;
    house->accept = "application/x-ndjson";
    struct exchange *exchange = start(METHOD_GET, "/list", EXCHANGE_REPLY);
    assert_non_null(exchange->reply.stream);
    view_apply_begin(view);
    exchange_loop_turns(&house->queue); /* it may slice */
    assert_int_equal(exchange_chunk(exchange, chunk, sizeof chunk, &size),
                     CHUNK_PARK);
    assert_int_equal(exchange->phase, EXCHANGE_CHUNK_AWAITS_VIEW);
    view_apply_cancel(view);
    wait_for(1);
    assert_int_equal(exchange_chunk(exchange, chunk, sizeof chunk, &size),
                     CHUNK_DATA);
    assert_non_null(memmem(chunk, size, "\"value\":2", 9));
    exchange_end(exchange);
}

/* Its client is gone: the writer need not wait for it. */
static void one_that_is_forsaken_owes_nothing(void **state)
{
    struct view *view = &house->test.store->view;
    (void)state;
    view_apply_begin(view);
    struct exchange *exchange = start(METHOD_GET, "/list", EXCHANGE_PARK);
    exchange_cancel(exchange);
    assert_int_equal(house->ready, 0);
    view_apply_cancel(view);
    wait_for(1);
    exchange_end(exchange);
    assert_int_equal(atomic_load(&view->owed), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_needs_no_view_is_answered,
                                        begin_house, finish_house),
        cmocka_unit_test_setup_teardown(
            what_needs_one_goes_on_when_it_can_have_it, begin_house,
            finish_house),
        cmocka_unit_test_setup_teardown(
            a_list_that_is_a_stream_waits_for_its_chunks, begin_house,
            finish_house),
        cmocka_unit_test_setup_teardown(one_that_is_forsaken_owes_nothing,
                                        begin_house, finish_house),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
