/* Clients that leave: each route of the table is asked again and again, and its
 * client is gone at the first wait of the request, at the second, and so on.
 * Nothing of the request may be left: no view, no ticket, no request counted.
 * Under sanitizers also no memory. */
#include "exchange_house.h"
#include "route_requests.h"

#include <poll.h>

#include "commit/store_state.h"
#include "exchange/exchange_loop.h"

enum { WAITS_MAX = 200 };

static char token_id[64];

static void note_token(const struct exchange *exchange)
{
    struct kx_slice id;
    if (exchange->request.route != NULL &&
        strcmp(exchange->request.route->operation, "createToken") == 0 &&
        kx_json_find(reply_bytes(&exchange->reply), kx_text("/id"), &id))
        snprintf(token_id, sizeof token_id, "%.*s", (int)id.size - 2,
                 (const char *)id.data + 1);
}

static struct exchange *begin_row(const struct request_row *row)
{
    const char *id = strstr(row->target, "ID");
    char *target = talloc_asprintf(
        house->mem, "%.*s%s",
        (int)(id != NULL ? (size_t)(id - row->target) : strlen(row->target)),
        row->target, id != NULL ? token_id : "");
    bool accept = row->wants != NULL && strchr(row->wants, '/') != NULL;
    bool repeats = row->wants != NULL && row->wants[0] == '"';
    house->accept = accept ? row->wants : NULL;
    house->idempotency_key = repeats ? row->wants : NULL;
    house->prefer = accept || repeats ? NULL : row->wants;
    return begin_request(row->method, target,
                         kx_slice(row->body, row->body_size));
}

/* Lets the queue work until the exchange is ready, or has come to so many more
 * waits, at which its client is gone. */
static void let_work(struct exchange *exchange, unsigned *waits)
{
    struct pollfd answers = {.fd = house->queue.answers_fd, .events = POLLIN};
    unsigned ready = house->ready;
    while (house->ready == ready) {
        if (*waits > 0 && --*waits == 0)
            exchange_cancel(exchange);
        if (house->ready != ready)
            break;
        if (exchange->awaits == AWAITS_NEWS && !exchange->client_gone)
            exchange_cancel(exchange);
        if (house->ready == ready && !exchange_loop_turns(&house->queue))
            poll(&answers, 1, 10);
        exchange_loop_answers(&house->queue);
    }
}

/* True: the client was gone before the reply was complete. */
static bool leave_at(const struct request_row *row, unsigned waits)
{
    struct exchange *exchange = begin_row(row);
    if (exchange_run(exchange) == EXCHANGE_PARK)
        let_work(exchange, &waits);
    bool left = exchange->client_gone;
    note_token(exchange);
    exchange_end(exchange);
    return left;
}

static void assert_nothing_left(const struct request_row *row)
{
    struct view *view = &house->test.store->view;
    if (house->queue.awaited != 0 || house->queue.in_flight != 0 ||
        atomic_load(&view->retries) != 0)
        fail_msg("%s", row->target);
    /* Waits for ever if a view was left open. The functions of the writer must
     * not be called here: jobs of indexes may still write. */
    pthread_rwlock_wrlock(&view->lock);
    pthread_rwlock_unlock(&view->lock);
}

static void leave_all(void)
{
    for (size_t i = 0; i < route_request_count; i++) {
        const struct request_row *row = &route_requests[i];
        unsigned waits = 1;
        while (leave_at(row, waits) && waits < WAITS_MAX)
            waits++;
        assert_nothing_left(row);
    }
}

TEST_WITH(disconnected_client_leaves_no_exchange_or_view, begin_house,
          finish_house)
{
    leave_all();
}

TEST_WITH(disconnected_client_leaves_no_exchange_when_workers_read,
          begin_beside, finish_house)
{
    leave_all();
}

/* The rights of this token depend on stored rows, which take further sections
 * to read. */
TEST_WITH(disconnected_client_with_some_rights_leaves_no_exchange, begin_house,
          finish_house)
{
    use_token(ALL_RIGHTS);
    use_token("[{\"prefix\":[\"p\"],\"scopes\":[\"read\",\"list\",\"watch\","
              "\"write\",\"index\"]},{\"prefix\":[\"b\"],"
              "\"scopes\":[\"write\"]}]");
    leave_all();
}
