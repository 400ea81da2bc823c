/* In place of a server and its clients. */
#include "exchange_house.h"

#include <poll.h>

#include "admin/backup.h"
#include "admin/metrics_history.h"
#include "exchange/charge.h"
#include "exchange/exchange_call.h"
#include "exchange/exchange_loop.h"
#include "exchange/workers.h"
#include "server/routes.h"

struct house *house;
size_t house_read_workers;
bool house_shared;
void (*house_fill)(struct test_store *test);

static void to_the_queue(void *context, struct kx_ticket *first)
{
    struct house *target = context;
    run_queue_put(&target->queue, first);
}

static const char *header(const struct request *request, const char *name)
{
    (void)request;
    if (strcmp(name, "Authorization") == 0)
        return house->authorization;
    if (strcmp(name, "Idempotency-Key") == 0)
        return house->idempotency_key;
    if (strcmp(name, "If-None-Match") == 0)
        return house->if_none_match;
    if (strcmp(name, "Kindex-Hop") == 0)
        return house->hop;
    if (strcmp(name, "Prefer") == 0)
        return house->prefer;
    return strcmp(name, "Accept") == 0 ? house->accept : NULL;
}

static void note_ready(struct exchange *exchange)
{
    (void)exchange;
    house->ready++;
}

/* Tickets that were not used have references to their tokens. */
static int drop_tickets(struct backup_tickets *tickets)
{
    for (size_t i = 0; i < BACKUP_TICKETS_MAX; i++)
        kx_token_release(tickets->all[i].token);
    return 0;
}

static const struct exchange_protocol PROTOCOL = {.ready = note_ready};

int begin_house(void **state)
{
    char *arguments[] = {"test", NULL};
    house = talloc_zero(NULL, struct house);
    house->mem = talloc_new(house);
    test_store_new(&house->test);
    test_set(&house->test, house->mem, "[\"a\"]", "1");
    test_set(&house->test, house->mem, "[\"b\"]", "2");
    if (house_fill != NULL)
        house_fill(&house->test);
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
    house->service.tickets = talloc_zero(house, struct backup_tickets);
    pthread_mutex_init(&house->service.tickets->lock, NULL);
    talloc_set_destructor(house->service.tickets, drop_tickets);
    house->service.history = talloc_zero(house, struct metrics_history);
    pthread_mutex_init(&house->service.history->lock, NULL);
    house->service.counters.connections = 2; /* no request is alone */
    house->service.tenants = tenants_open(1, 1);
    house->service.role.shared = house_shared;
    house->service.workers = workers_open(
        &house->service, 1, house_read_workers, exchange_call_serve);
    assert_non_null(house->service.workers);
    assert_true(run_queue_open(&house->queue, &house->service, 0));
    *state = house;
    return 0;
}

int begin_beside(void **state)
{
    house_read_workers = 2;
    begin_house(state);
    house->queue.workers_read = true;
    kx_reader_use_memory_only(house->queue.reader, true);
    return 0;
}

int finish_house(void **state)
{
    (void)state;
    workers_close(house->service.workers);
    house_read_workers = 0;
    house_shared = false;
    house_fill = NULL;
    run_queue_close(&house->queue);
    tenants_close(house->service.tenants);
    test_store_remove(&house->test);
    return talloc_free(house);
}

struct exchange *begin_request(enum method method, const char *target,
                               struct kx_slice body)
{
    struct exchange *exchange = exchange_begin(&house->queue, house->client);
    assert_non_null(exchange);
    exchange_target(exchange, target, strlen(target));
    exchange->request.method = method;
    exchange->request.header = header;
    exchange->protocol = &PROTOCOL;
    exchange_open(exchange, body.size);
    exchange_body(exchange, body.data, body.size);
    return exchange;
}

struct exchange *start(enum method method, const char *target,
                       struct kx_slice body, enum exchange_next next)
{
    struct exchange *exchange = begin_request(method, target, body);
    if (exchange_run(exchange) != next)
        fail_msg("%s: %d %.*s", target, exchange->reply.status,
                 (int)exchange->reply.body.size,
                 (const char *)exchange->reply.body.data);
    return exchange;
}

void assert_reply(struct exchange *exchange, int status, const char *text)
{
    struct kx_slice body = reply_bytes(&exchange->reply);
    char *all = talloc_strndup(house->mem, (const char *)body.data, body.size);
    assert_int_equal(exchange->reply.status, status);
    if (strstr(all, text) == NULL)
        fail_msg("%s", all);
    exchange_end(exchange);
}

void wait_for_ready(unsigned ready)
{
    struct pollfd answers = {.fd = house->queue.answers_fd, .events = POLLIN};
    while (house->ready < ready) {
        if (!exchange_loop_turns(&house->queue))
            poll(&answers, 1, -1);
        exchange_loop_answers(&house->queue);
    }
}

void use_token(const char *grants)
{
    char *body =
        talloc_asprintf(house->mem, "{\"name\":\"t\",\"grants\":%s}", grants);
    struct exchange *exchange =
        start(METHOD_POST, "/tokens", kx_text(body), EXCHANGE_PARK);
    wait_for_ready(house->ready + 1);
    struct kx_slice token;
    assert_int_equal(exchange->reply.status, 201);
    assert_true(
        kx_json_find(reply_bytes(&exchange->reply), kx_text("/token"), &token));
    house->authorization =
        talloc_asprintf(house->mem, "Bearer %.*s", (int)token.size - 2,
                        (const char *)token.data + 1);
    exchange_end(exchange);
}

struct exchange *get(const char *target, enum exchange_next next)
{
    return start(METHOD_GET, target, kx_slice(NULL, 0), next);
}
