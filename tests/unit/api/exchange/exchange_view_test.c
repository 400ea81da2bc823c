/* Requests while the view is closed, as it is when the test holds it in the
 * writer's place: those that need no view are answered, and those that do wait
 * without keeping their thread, until it opens.
 */
#include "exchange_house.h"

#include "commit/store_state.h"
#include "exchange/exchange_loop.h"

TEST_WITH(requests_without_view_are_answered_during_a_batch, begin_house,
          finish_house)
{
    struct view *view = &house->test.store->view;
    assert_reply(get("/kv/a", EXCHANGE_REPLY), 200, "1");
    view_apply_begin(view);
    assert_reply(get("/livez", EXCHANGE_REPLY), 200, "");
    assert_reply(get("/readyz", EXCHANGE_REPLY), 200, "");
    assert_reply(get("/kv/a", EXCHANGE_REPLY), 200, "1");
    assert_reply(get("/version", EXCHANGE_REPLY), 200, "");
    view_apply_cancel(view);
    assert_int_equal(house->ready, 0);
}

TEST_WITH(reads_continue_when_the_view_opens, begin_house, finish_house)
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
        {"/readyz?verbose=true", 200, "indexes"},
        {"/metrics", 200, "kindex_build_info"},
    };
    enum { READS = sizeof reads / sizeof *reads };
    struct exchange *exchanges[READS];
    struct view *view = &house->test.store->view;
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
    assert_int_equal(atomic_load(&view->retries), 0);
    view_apply_begin(view); /* no view was left open */
    view_apply_cancel(view);
}

TEST_WITH(streamed_list_parks_until_the_view_opens, begin_house, finish_house)
{
    struct view *view = &house->test.store->view;
    char chunk[512];
    size_t size = 0;
    house->accept = "application/x-ndjson";
    struct exchange *exchange = get("/list", EXCHANGE_REPLY);
    assert_non_null(exchange->reply.stream);
    view_apply_begin(view);
    exchange_loop_turns(&house->queue); /* it may slice */
    assert_int_equal(exchange_chunk(exchange, chunk, sizeof chunk, &size),
                     CHUNK_PARK);
    assert_int_equal(exchange->awaits, AWAITS_VIEW);
    view_apply_cancel(view);
    wait_for_ready(1);
    assert_int_equal(exchange_chunk(exchange, chunk, sizeof chunk, &size),
                     CHUNK_DATA);
    assert_non_null(memmem(chunk, size, "\"value\":2", 9));
    exchange_end(exchange);
}

/* The client of the read is gone, so the writer need not wait for the read. */
TEST_WITH(cancelled_read_does_not_hold_up_the_writer, begin_house, finish_house)
{
    struct view *view = &house->test.store->view;
    view_apply_begin(view);
    struct exchange *exchange = get("/list", EXCHANGE_PARK);
    exchange_cancel(exchange);
    assert_int_equal(house->ready, 0);
    view_apply_cancel(view);
    wait_for_ready(1);
    exchange_end(exchange);
    assert_int_equal(atomic_load(&view->retries), 0);
}

/* The token may write everything and read nothing. Which rights its commit
 * needs depends on the declared indexes. */
TEST_WITH(commit_waits_for_view_to_look_up_its_rights, begin_house,
          finish_house)
{
    struct view *view = &house->test.store->view;
    use_token(ALL_RIGHTS);
    use_token("[{\"prefix\":[],\"scopes\":[\"write\"]}]");
    view_apply_begin(view);
    unsigned ready = house->ready;
    struct exchange *exchange =
        start(METHOD_PUT, "/kv/c", kx_text("3"), EXCHANGE_PARK);
    assert_int_equal(exchange->awaits, AWAITS_VIEW);
    view_apply_cancel(view);
    wait_for_ready(ready + 1);
    assert_reply(exchange, 200, "\"ok\":true");
}

/* Bounds in an index depend on its declaration. */
TEST_WITH(removal_by_index_waits_for_view, begin_house, finish_house)
{
    struct view *view = &house->test.store->view;
    view_apply_begin(view);
    struct exchange *exchange =
        start(METHOD_DELETE, "/list?index=none&prefix=a", kx_slice(NULL, 0),
              EXCHANGE_PARK);
    assert_int_equal(exchange->awaits, AWAITS_VIEW);
    view_apply_cancel(view);
    wait_for_ready(1);
    assert_reply(exchange, 404, "index-not-found");
}

/* A token with all rights needs no look-up before its commit. */
TEST_WITH(commit_by_value_with_all_rights_needs_no_view, begin_house,
          finish_house)
{
    static const char TEXT[] =
        "{\"checks\":[{\"by\":{\"index\":\"none\",\"value\":[\"x\"]},"
        "\"exists\":true}],\"mutations\":[]}";
    struct view *view = &house->test.store->view;
    use_token(ALL_RIGHTS);
    unsigned ready = house->ready;
    view_apply_begin(view);
    struct exchange *exchange =
        start(METHOD_POST, "/atomic", kx_text(TEXT), EXCHANGE_PARK);
    assert_int_equal(exchange->awaits, AWAITS_COMMIT);
    assert_false(view_try_enter(view)); /* no view was begun and ended */
    view_apply_cancel(view);
    wait_for_ready(ready + 1);
    assert_reply(exchange, 404, "index-not-found");
}

/* A value in each of many results, which are more than is written in a turn. */
TEST_WITH(large_results_are_written_in_turns, begin_house, finish_house)
{
    enum { RESULTS = 8, SIZE = 200000 };
    struct kx_buffer body;
    unsigned turns = 0;
    kx_buffer_init(&body, house->mem);
    kx_add_text(&body, "{\"mutations\":[");
    for (int i = 0; i < RESULTS; i++) {
        char *value = talloc_array(house->mem, char, SIZE);
        memset(value, 'x', SIZE);
        kx_add_text(&body, i == 0 ? "" : ",");
        kx_add_text(&body, "{\"type\":\"set\",\"key\":[\"r\"],"
                           "\"return\":\"new\",\"value\":\"");
        kx_add(&body, value, SIZE);
        kx_add_text(&body, "\"}");
    }
    kx_add_text(&body, "]}");
    struct exchange *exchange =
        start(METHOD_POST, "/atomic", kx_buffer_slice(&body), EXCHANGE_PARK);
    while (exchange->phase != EXCHANGE_READY) {
        turns += exchange->awaits == AWAITS_TURN;
        exchange_loop_answers(&house->queue);
        exchange_loop_turns(&house->queue);
    }
    assert_true(turns >= 2);
    assert_true(reply_bytes(&exchange->reply).size > RESULTS * SIZE);
    assert_int_equal(kx_json_check(reply_bytes(&exchange->reply), NULL), KX_OK);
    assert_reply(exchange, 200, "\"results\":[{\"key\":[\"r\"]");
}
