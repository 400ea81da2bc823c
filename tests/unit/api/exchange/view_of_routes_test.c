/* No route makes its loop's thread wait for a view: no handler, and no chunk of
 * a stream, begins one that the exchange does not hold. Each
 * route of the table is asked while the first attempt to get a view fails, as
 * it does while a batch is being applied. The Makefile puts __wrap_X where the
 * program calls X.
 */
#include "exchange_house.h"
#include "route_requests.h"

#include <poll.h>
#include <sys/mman.h>

#include "access/access.h"
#include "commit/store_state.h"
#include "exchange/exchange_loop.h"
#include "exchange/exchange_wait.h"
#include "exchange/fiber.h"
#include "server/routes.h"

/* Calls are counted on the loop's thread only, because the writer and its jobs
 * may wait. */
static _Thread_local bool on_loop;
static bool shut;       /* the next attempt to get a view fails */
static unsigned waited; /* views begun that were not held */
static unsigned tried;  /* attempts to get one */

void __real_view_enter(struct view *view);
bool __real_view_try_enter(struct view *view);
bool __real_view_enter_or_park(struct view *view, struct kx_ticket *ticket);
void __wrap_view_enter(struct view *view);
bool __wrap_view_try_enter(struct view *view);
bool __wrap_view_enter_or_park(struct view *view, struct kx_ticket *ticket);

void __wrap_view_enter(struct view *view)
{
    waited += on_loop;
    __real_view_enter(view);
}

bool __wrap_view_try_enter(struct view *view)
{
    tried += on_loop;
    return !(on_loop && shut) && __real_view_try_enter(view);
}

/* The ticket is answered at once, so that the exchange tries again. */
bool __wrap_view_enter_or_park(struct view *view, struct kx_ticket *ticket)
{
    tried += on_loop;
    if (!on_loop || !shut)
        return __real_view_enter_or_park(view, ticket);
    shut = false;
    ticket->next = NULL;
    run_queue_put(&house->queue, ticket);
    return false;
}

/* ---- The stacks of handlers ---------------------------------------------- */

/* The most that a handler has used of its stack. Sanitizers need more of it,
 * of which nothing is said here. */
static size_t deepest;
enum { STACK = FIBER_SIZE - FIBER_GUARD, DEEP = STACK * 3 / 4 };

int __real_madvise(void *at, size_t size, int advice);
int __wrap_madvise(void *at, size_t size, int advice);

/* Stacks are filled with zeros, and a deep one gives its low end back: the
 * first bytes that are not 0 are where the handler has been. */
__attribute__((no_sanitize("address"))) int
__wrap_madvise(void *at, size_t size, int advice)
{
    const uint64_t *words = at;
    size_t unused = 0;
    while (advice == MADV_DONTNEED && unused < size / sizeof *words &&
           words[unused] == 0)
        unused++;
    size_t used = STACK - unused * sizeof *words;
    if (advice == MADV_DONTNEED && used > deepest)
        deepest = used;
    return __real_madvise(at, size, advice);
}

static bool is_deep(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    return false;
#else
    return deepest > STACK / 2;
#endif
}

/* ---- Sending them ------------------------------------------------------- */

static char token_id[64];

/* Lets the queue work until the exchange is ready. What follows a commit, and
 * each chunk, find no view at first either. News are not waited for. */
static void let_work(struct exchange *exchange)
{
    struct pollfd answers = {.fd = house->queue.answers_fd, .events = POLLIN};
    unsigned ready = house->ready;
    while (house->ready == ready) {
        shut |= exchange->awaits == AWAITS_COMMIT;
        if (exchange->awaits == AWAITS_NEWS && !exchange->client_gone)
            exchange_cancel(exchange);
        else if (!exchange_loop_turns(&house->queue))
            poll(&answers, 1, exchange->awaits == AWAITS_COMMIT ? -1 : 1);
        if (house->ready == ready)
            exchange_loop_answers(&house->queue);
    }
}

static void pull_all(struct exchange *exchange)
{
    char bytes[4096];
    size_t size;
    while (!exchange->client_gone) {
        shut = true;
        enum exchange_chunk got =
            exchange_chunk(exchange, bytes, sizeof bytes, &size);
        if (got == CHUNK_PARK)
            let_work(exchange);
        else if (got != CHUNK_DATA)
            return;
    }
}

static void note_token(const struct exchange *exchange)
{
    struct kx_slice id;
    if (exchange->request.route == NULL ||
        strcmp(exchange->request.route->operation, "createToken") != 0 ||
        !kx_json_find(reply_bytes(&exchange->reply), kx_text("/id"), &id))
        return;
    snprintf(token_id, sizeof token_id, "%.*s", (int)id.size - 2,
             (const char *)id.data + 1);
}

/* The course of one request. */
struct sent {
    int status;
    const struct route *route;
    bool parked; /* it waited for a view before all else */
};

static struct sent send_row(const struct request_row *row)
{
    const char *id = strstr(row->target, "ID");
    char *target = talloc_asprintf(
        house->mem, "%.*s%s",
        (int)(id != NULL ? (size_t)(id - row->target) : strlen(row->target)),
        row->target, id != NULL ? token_id : "");
    const char *wants = row->wants;
    bool accept = wants != NULL && strchr(wants, '/') != NULL;
    house->accept = accept ? wants : NULL;
    bool repeats = wants != NULL && wants[0] == '"';
    house->idempotency_key = repeats ? wants : NULL;
    house->prefer = accept || repeats ? NULL : wants;
    struct exchange *exchange =
        begin_request(row->method, target, kx_slice(row->body, row->body_size));
    bool parked = false;
    on_loop = true;
    shut = true;
    if (exchange_run(exchange) == EXCHANGE_PARK) {
        parked = exchange->awaits == AWAITS_VIEW ||
                 exchange->awaits == AWAITS_WORKER;
        let_work(exchange);
    }
    if (!exchange->client_gone && exchange->reply.stream != NULL)
        pull_all(exchange);
    on_loop = false;
    note_token(exchange);
    struct sent sent = {exchange->reply.status, exchange->request.route,
                        parked};
    exchange_end(exchange);
    return sent;
}

/* Waits until no index is being built or migrates: what the next request gets
 * depends on it. */
static void await_indexes(void)
{
    struct kx_reader *reader = house->queue.reader;
    struct kx_index_info info;
    for (bool at_work = true; at_work; poll(NULL, 0, at_work)) {
        at_work = false;
        kx_read_begin(reader);
        for (size_t n = 0; kx_index_at(reader, n, &info) == KX_OK; n++)
            at_work |= info.state == KX_INDEX_BUILDING || info.target.size > 0;
        kx_read_end(reader);
    }
}

/* 202 says that the work has not ended yet. */
static bool is_expected(const struct request_row *row, int status)
{
    return status == row->status || (row->status == 202 && status / 100 == 2);
}

/* Asks all; the status is compared if the caller may do all. */
static void send_all(bool may_all)
{
    bool asked[ROUTES_MAX] = {false};
    for (size_t i = 0; i < route_request_count; i++) {
        struct sent sent = send_row(&route_requests[i]);
        if (waited > 0 || sent.status >= 500 ||
            (may_all && !is_expected(&route_requests[i], sent.status)))
            fail_msg("%s (row %zu): %d; waited %u times",
                     route_requests[i].target, i, sent.status, waited);
        if (is_deep())
            fail_msg("%s: %zu bytes of stack", route_requests[i].target,
                     deepest);
        await_indexes();
        if (sent.route == NULL) /* refused for lack of a token */
            continue;
        asked[sent.route - ROUTES.rows] = true;
    }
    for (size_t i = 0; may_all && i < ROUTES.count; i++)
        if (!asked[i])
            fail_msg("no request for %s", ROUTES.rows[i].operation);
}

static int begin_unheld(void **state)
{
    waited = 0;
    tried = 0;
    return begin_house(state);
}

TEST_WITH(no_route_waits_for_a_view_without_tokens, begin_unheld, finish_house)
{
    send_all(false);
}

TEST_WITH(no_route_waits_for_a_view_if_caller_has_all_rights, begin_unheld,
          finish_house)
{
    use_token(ALL_RIGHTS);
    send_all(true);
    print_message("the deepest stack: %zu bytes; 0: no more than %d\n", deepest,
                  FIBER_KEPT);
}

/* The rights of this token depend on the declared indexes. */
TEST_WITH(no_route_waits_for_a_view_if_caller_has_some_rights, begin_unheld,
          finish_house)
{
    use_token(ALL_RIGHTS);
    use_token("[{\"prefix\":[\"p\"],\"scopes\":[\"read\",\"list\",\"watch\","
              "\"write\",\"index\"]},{\"prefix\":[\"b\"],"
              "\"scopes\":[\"write\"]}]");
    send_all(false);
}

static int begin_unheld_beside(void **state)
{
    waited = 0;
    tried = 0;
    return begin_beside(state);
}

/* If workers read, the loop's thread never tries to open a view. */
TEST_WITH(loop_tries_no_view_when_workers_read, begin_unheld_beside,
          finish_house)
{
    use_token(ALL_RIGHTS);
    send_all(true);
    assert_int_equal(tried, 0);
    use_token("[{\"prefix\":[\"p\"],\"scopes\":[\"read\",\"list\",\"watch\","
              "\"write\",\"index\"]},{\"prefix\":[\"b\"],"
              "\"scopes\":[\"write\"]}]");
    send_all(false);
    assert_int_equal(tried, 0);
}

/* ---- The test finds those that do --------------------------------------- */

static void begin_a_view(struct request *request, struct reply *reply,
                         void *arg)
{
    (void)arg;
    access_asked(request);
    kx_read_begin(request->reader);
    kx_read_end(request->reader);
    reply->status = 200;
}

static void begin_in_section(struct request *request, struct reply *reply)
{
    (void)reply;
    request_read(request, begin_a_view, NULL);
}

static void begin_in_handler(struct request *request, struct reply *reply)
{
    begin_a_view(request, reply, NULL);
}

static void begin_after_commit(struct request *request, struct reply *reply)
{
    request->commit.command.kind = KX_WRITE;
    if (request_commit(request))
        begin_a_view(request, reply, NULL);
}

static void go_deep(struct request *request, struct reply *reply)
{
    unsigned char bytes[DEEP];
    memset(bytes, 1, sizeof bytes);
    __asm__ volatile("" : : "r"(bytes) : "memory");
    access_asked(request);
    reply->status = 200;
}

static const struct route PLANTED[] = {
    {METHOD_GET, "/held", "held", SCOPE_NONE, BODY_NONE, begin_in_section, 0},
    {METHOD_GET, "/first", "first", SCOPE_NONE, BODY_NONE, begin_in_handler, 0},
    {METHOD_DELETE, "/second", "second", SCOPE_NONE, BODY_NONE,
     begin_after_commit, COMMITS},
};
static const struct route_table PLANTED_TABLE = {PLANTED, 3};

static const struct route DEEP_ROUTE = {METHOD_GET, "/deep", "deep", SCOPE_NONE,
                                        BODY_NONE,  go_deep, 0};
static const struct route_table DEEP_TABLE = {&DEEP_ROUTE, 1};

TEST_WITH(handler_that_uses_most_of_its_stack_is_detected, begin_unheld,
          finish_house)
{
    house->service.routes = &DEEP_TABLE;
    exchange_end(get("/deep", EXCHANGE_REPLY));
    assert_in_range(deepest, DEEP, STACK);
    deepest = 0;
}

TEST_WITH(handler_that_begins_a_view_is_detected, begin_unheld, finish_house)
{
    static const struct request_row rows[] = {
        {METHOD_GET, "/held", NULL, 0, NULL, 200},
        {METHOD_GET, "/first", NULL, 0, NULL, 200},
        {METHOD_DELETE, "/second", NULL, 0, NULL, 200},
    };
    house->service.routes = &PLANTED_TABLE;
    for (unsigned i = 0; i < 3; i++) {
        struct sent sent = send_row(&rows[i]);
        assert_int_equal(sent.status, 200);
        assert_int_equal(sent.parked, i == 0);
        assert_int_equal(waited, i);
    }
    assert_true(tried > 0);
}
