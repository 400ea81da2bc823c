/* Requests with large bodies: their work is done on another thread, without the
 * loop's reader, and all of them are answered as they are when their body
 * is small.
 */
#include "exchange_house.h"

#include <pthread.h>

#include "commit/store_state.h"
#include "exchange/workers.h"
#include "exchange/exchange_loop.h"
#include "server/routes.h"

/* The text between brackets of white space, by which it gets its size. */
static struct kx_slice padded(const char *text, size_t size)
{
    char *body = talloc_array(house->mem, char, size);
    memset(body, ' ', size);
    memcpy(body, text, strlen(text));
    return kx_slice(body, size);
}

/* Of the entry ["p","q"], which is not claimed. */
#define RECEIPTS "{\"receipts\":[\"AAAAAAAAAAECcAACcQA\"]}"

static const struct {
    enum method method;
    const char *target;
    const char *body;
    int status;
    const char *text;
} WRITES[] = {
    {METHOD_PUT, "/kv/c", "3", 201, "\"ok\":true"},
    {METHOD_PUT, "/kv/c", "[1,", 400, "bad-json"},
    {METHOD_PATCH, "/kv/d", "{\"x\":1}", 201, "\"ok\":true"},
    {METHOD_PATCH, "/list?prefix=none", "{\"x\":1}", 200, "\"patched\":0"},
    {METHOD_PATCH, "/list?index=none&prefix=a", "{\"x\":1}", 404,
     "index-not-found"},
    {METHOD_PATCH, "/list?prefix=none", "{\"x\":", 400, "bad-json"},
    {METHOD_POST, "/kv/e", "5", 201, "\"key\":[\"e\","},
    {METHOD_POST, "/get", "{\"keys\":[[\"b\"]]}", 200, "\"value\":2"},
    {METHOD_POST, "/get", "{\"ranges\":[{\"prefix\":[]}]}", 200, "\"value\":2"},
    {METHOD_POST, "/get", "{\"ranges\":[{\"start\":[1]}]}", 400,
     "\"pointer\":\"/ranges/0\""},
    {METHOD_POST, "/list", "{\"ranges\":[{\"prefix\":[]}]}", 200,
     "\"value\":2"},
    {METHOD_POST, "/list", "{\"ranges\":[{\"start\":[1]}]}", 400,
     "\"pointer\":\"/ranges/0\""},
    {METHOD_POST, "/explain", "{\"prefix\":[]}", 200, "\"request\":\"/list"},
    {METHOD_POST, "/explain", "{\"prefix\":7}", 400, "bad-request"},
    {METHOD_POST, "/atomic",
     "{\"mutations\":[{\"type\":\"sum\",\"key\":[\"a\"],\"value\":1,"
     "\"return\":\"new\"}]}",
     200, "\"results\":[{"},
    {METHOD_POST, "/atomic", "{\"checks\":[{}]}", 400, "/checks/0"},
    {METHOD_POST, "/bulk", "{\"key\":[\"f\"],\"value\":1}", 200,
     "{\"end\":true,\"lines\":1,\"stored\":1}"},
    {METHOD_POST, "/bulk", "{\"key\":[\"f\"]}", 400, "\"line\":1"},
    {METHOD_POST, "/indexes",
     "{\"name\":\"i\",\"prefix\":[\"p\"],"
     "\"fields\":[\"/x\"]}",
     201, "\"name\":\"i\""},
    {METHOD_PUT, "/indexes", "{\"i\":{\"prefix\":[\"p\"],\"fields\":[\"/x\"]}}",
     200, "\"change\":\"unchanged\""},
    {METHOD_PUT, "/indexes", "{\"i\":7}", 400, "bad-index-definition"},
    {METHOD_PATCH, "/indexes/none", "{\"unique\":true}", 404,
     "index-not-found"},
    {METHOD_PUT, "/indexes/none/get/5", "{\"x\":5}", 404, "index-not-found"},
    {METHOD_POST, "/indexes/i/throttle", "{\"perSecond\":9}", 200,
     "\"perSecond\":9"},
    {METHOD_POST, "/indexes/none/throttle", "{\"perSecond\":9}", 404,
     "index-not-found"},
    {METHOD_POST, "/queues/i/ack", RECEIPTS, 404, "queue-not-found"},
    {METHOD_POST, "/queues/i/extend", RECEIPTS, 404, "queue-not-found"},
    {METHOD_POST, "/queues/i/release", RECEIPTS, 404, "queue-not-found"},
    {METHOD_POST, "/queues/i/fail", RECEIPTS, 404, "queue-not-found"},
    {METHOD_POST, "/queues/i/fail", "{\"receipts\":[]}", 400, "from 1 to"},
    {METHOD_PUT, "/rules/r",
     "{\"prefix\":[\"p\",\"r\"],\"bounds\":{\"min\":0}}", 201,
     "\"name\":\"r\""},
    {METHOD_PUT, "/rules/r", "{\"prefix\":7}", 400, "bad-rule-definition"},
    {METHOD_POST, "/v2/atomic_write", "x", 400, "not a valid"},
    {METHOD_POST, "/tokens", "{\"name\":\"t\",\"grants\":[]}", 400,
     "bad-request"},
};
enum { ALL = sizeof WRITES / sizeof *WRITES };

static struct exchange *send_row(size_t i, size_t size, enum exchange_next next)
{
    return start(WRITES[i].method, WRITES[i].target,
                 padded(WRITES[i].body, size), next);
}

TEST_WITH(large_body_is_read_by_a_worker, begin_house, finish_house)
{
    for (unsigned i = 0; i < ALL; i++) {
        struct exchange *exchange =
            send_row(i, BODY_ON_LOOP_MAX + 1, EXCHANGE_PARK);
        assert_int_equal(exchange->awaits, AWAITS_WORKER);
        wait_for_ready(i + 1);
        assert_reply(exchange, WRITES[i].status, WRITES[i].text);
    }
    assert_int_equal(house->queue.awaited, 0);
}

/* Every route that takes such bodies has a row above. */
TEST_WITH(large_body_table_has_every_route_with_a_body, begin_house,
          finish_house)
{
    for (size_t i = 0; i < ROUTES.count; i++) {
        const struct route *route = &ROUTES.rows[i];
        bool found = route->body == BODY_NONE || route->body == BODY_KEYS;
        for (size_t j = 0; !found && j < ALL; j++) {
            struct exchange *exchange =
                send_row(j, BODY_ON_LOOP_MAX + 1, EXCHANGE_PARK);
            found = exchange->request.route == route;
            wait_for_ready(house->ready + 1);
            exchange_end(exchange);
        }
        if (!found)
            fail_msg("%s", route->pattern);
    }
}

TEST_WITH(small_body_is_read_on_the_loop, begin_house, finish_house)
{
    struct exchange *exchange =
        start(METHOD_POST, "/get",
              padded("{\"keys\":[[\"b\"]]}", BODY_ON_LOOP_MAX), EXCHANGE_REPLY);
    assert_reply(exchange, 200, "\"value\":2");
}

/* ---- A route of the test's --------------------------------------------- */

static struct {
    pthread_t thread[3]; /* of the handler, its work and its section */
    bool reader[3];
} seen;

static void note(const struct request *request, int part)
{
    seen.thread[part] = pthread_self();
    seen.reader[part] = request->reader != NULL;
}

enum { DECODED = 1 << 20 /* bytes */ };

static void note_work(struct request *request, void *arg)
{
    (void)arg;
    note(request, 1);
    assert_non_null(talloc_size(request->memory, DECODED));
}

static void note_section(struct request *request, struct reply *reply,
                         void *arg)
{
    (void)arg;
    (void)reply;
    note(request, 2);
}

static void note_all(struct request *request, struct reply *reply)
{
    note(request, 0);
    if (!request_work(request, note_work, NULL) ||
        !request_read(request, note_section, NULL))
        return;
    reply->status = 200;
    kx_add_text(&reply->body, "noted");
}

static const struct route NOTE = {METHOD_POST,   "/note",  "note", SCOPE_NONE,
                                  BODY_ENVELOPE, note_all, 0};
static const struct route_table NOTES = {&NOTE, 1};

static int begin_notes(void **state)
{
    int result = begin_house(state);
    house->service.routes = &NOTES;
    memset(&seen, 0, sizeof seen);
    return result;
}

TEST_WITH(work_on_large_body_has_its_thread_and_no_reader, begin_notes,
          finish_house)
{
    struct exchange *exchange = start(
        METHOD_POST, "/note", padded("", BODY_ON_LOOP_MAX + 1), EXCHANGE_PARK);
    wait_for_ready(1);
    assert_reply(exchange, 200, "noted");
    assert_true(pthread_equal(seen.thread[0], pthread_self()));
    assert_false(pthread_equal(seen.thread[1], pthread_self()));
    assert_false(seen.reader[1]);
    assert_true(pthread_equal(seen.thread[2], pthread_self()));
}

TEST_WITH(read_after_work_on_large_body_waits_for_view, begin_notes,
          finish_house)
{
    struct view *view = &house->test.store->view;
    view_apply_begin(view);
    struct exchange *exchange = start(
        METHOD_POST, "/note", padded("", BODY_ON_LOOP_MAX + 1), EXCHANGE_PARK);
    while (exchange->awaits != AWAITS_VIEW)
        exchange_loop_answers(&house->queue);
    assert_false(seen.reader[2]);
    assert_true(exchange->held > DECODED);
    view_apply_cancel(view);
    wait_for_ready(1);
    assert_reply(exchange, 200, "noted");
    assert_true(seen.reader[2]);
}

TEST_WITH(request_ends_when_client_leaves_during_its_work, begin_notes,
          finish_house)
{
    struct exchange *exchange = start(
        METHOD_POST, "/note", padded("", BODY_ON_LOOP_MAX + 1), EXCHANGE_PARK);
    exchange_cancel(exchange);
    wait_for_ready(1);
    exchange_end(exchange);
    assert_int_equal(house->queue.awaited, 0);
}
