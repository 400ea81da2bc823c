/* Requests while the view is closed, as it is when the test holds it in the
 * writer's place: those that need no view are answered, and those that do wait
 * without keeping their thread, until it opens.
 */
#include "exchange_house.h"

#include "commit/store_state.h"
#include "exchange/exchange_loop.h"

static struct exchange *get(const char *target, enum exchange_next next)
{
    return start(METHOD_GET, target, kx_slice(NULL, 0), next);
}

static void what_needs_no_view_is_answered(void **state)
{
    struct view *view = &house->test.store->view;
    (void)state;
    assert_reply(get("/kv/a", EXCHANGE_REPLY), 200, "1");
    view_apply_begin(view);
    assert_reply(get("/livez", EXCHANGE_REPLY), 200, "");
    assert_reply(get("/kv/a", EXCHANGE_REPLY), 200, "1");
    assert_reply(get("/version", EXCHANGE_REPLY), 200, "");
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
        exchanges[i] = get(reads[i].target, EXCHANGE_PARK);
    assert_false(exchange_loop_answers(&house->queue));
    assert_int_equal(house->ready, 0);
    assert_reply(get("/livez", EXCHANGE_REPLY), 200, "");
    view_apply_cancel(view);
    wait_for_ready(READS);
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
    struct exchange *exchange = get("/list", EXCHANGE_REPLY);
    assert_non_null(exchange->reply.stream);
    view_apply_begin(view);
    exchange_loop_turns(&house->queue); /* it may slice */
    assert_int_equal(exchange_chunk(exchange, chunk, sizeof chunk, &size),
                     CHUNK_PARK);
    assert_int_equal(exchange->phase, EXCHANGE_CHUNK_AWAITS_VIEW);
    view_apply_cancel(view);
    wait_for_ready(1);
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
    struct exchange *exchange = get("/list", EXCHANGE_PARK);
    exchange_cancel(exchange);
    assert_int_equal(house->ready, 0);
    view_apply_cancel(view);
    wait_for_ready(1);
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
