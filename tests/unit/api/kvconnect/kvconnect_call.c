#include "kvconnect_call.h"

#include <poll.h>
#include <strings.h>

#include "exchange/exchange_call.h"
#include "exchange/exchange_loop.h"
#include "exchange/workers.h"
#include "server/routes.h"

const char *call_headers[3];

static const char *header(const struct request *request, const char *name)
{
    static const char *const names[] = {"x-denokv-database-id",
                                        "x-denokv-version", "Host"};
    (void)request;
    for (size_t i = 0; i < 3; i++)
        if (strcasecmp(name, names[i]) == 0)
            return call_headers[i];
    return NULL;
}

/* ---- The store's answers ------------------------------------------------ */

static struct run_queue queue;
static struct service service;
static struct options options;
static struct exchange *current; /* that waits for the store; or NULL */
static bool ready;

/* An answer is for the exchange, or for a commit of the test itself, whose
 * ticket's owner is a flag. */
static void answer_all(void *context, struct kx_ticket *first)
{
    struct test_store *test = context;
    while (first != NULL) {
        struct kx_ticket *next = first->next;
        first->next = NULL;
        if (first->owner == current) {
            run_queue_put(&queue, first);
        } else {
            pthread_mutex_lock(&test->lock);
            *(bool *)first->owner = true;
            pthread_cond_broadcast(&test->answered);
            pthread_mutex_unlock(&test->lock);
        }
        first = next;
    }
}

int begin_calls(void **state)
{
    char *arguments[] = {"test", NULL};
    int result = begin(state);
    struct story *story = *state;
    test_store_close(&story->test);
    story->test.options.answer = answer_all;
    test_store_open(&story->test);
    assert_true(options_read(&options, 1, arguments));
    options.listen.all[0].loopback = false; /* it has any name */
    service = (struct service){.store = story->test.store,
                               .routes = &ROUTES,
                               .options = &options,
                               .counters.connections = 2};
    service.workers = workers_open(&service, 1, 0, exchange_call_serve);
    assert_non_null(service.workers);
    assert_true(run_queue_open(&queue, &service, 0));
    return result;
}

int finish_calls(void **state)
{
    workers_close(service.workers);
    run_queue_close(&queue);
    return finish(state);
}

/* ---- Requests ----------------------------------------------------------- */

static void note_ready(struct exchange *exchange)
{
    (void)exchange;
    ready = true;
}

static const struct exchange_protocol PROTOCOL = {.ready = note_ready};

void continue_post(struct exchange *exchange)
{
    struct pollfd answers = {.fd = queue.answers_fd, .events = POLLIN};
    if (exchange->awaits == AWAITS_TURN)
        exchange_loop_turns(&queue);
    while (!ready && exchange->awaits != AWAITS_TURN) {
        poll(&answers, 1, -1);
        exchange_loop_answers(&queue);
    }
}

struct exchange *post_until_turn(struct story *story, const char *path,
                                 struct kx_slice body)
{
    (void)story;
    struct exchange *exchange = exchange_begin(&queue, NULL);
    assert_non_null(exchange);
    current = exchange;
    ready = false;
    exchange_target(exchange, path, strlen(path));
    exchange->request.method = METHOD_POST;
    exchange->request.header = header;
    exchange->protocol = &PROTOCOL;
    exchange_open(exchange, body.size);
    exchange_body(exchange, body.data, body.size);
    if (exchange_run(exchange) == EXCHANGE_REPLY)
        ready = true;
    else if (exchange->awaits != AWAITS_TURN)
        continue_post(exchange);
    return exchange;
}

struct answer post(struct story *story, const char *path, struct kx_slice body)
{
    struct exchange *exchange = post_until_turn(story, path, body);
    while (!ready)
        continue_post(exchange);
    struct kx_slice bytes = reply_bytes(&exchange->reply);
    struct answer answer = {
        exchange->reply.status, exchange->reply.content_type,
        kx_slice(talloc_memdup(story->mem, bytes.data, bytes.size),
                 bytes.size)};
    exchange_end(exchange);
    current = NULL;
    return answer;
}

const char *text_of(struct story *story, struct answer answer)
{
    return talloc_strndup(story->mem, (const char *)answer.body.data,
                          answer.body.size);
}

struct kx_slice bytes_of(void *mem, const char *hex)
{
    struct kx_buffer bytes;
    kx_buffer_init(&bytes, mem);
    assert_true(kx_hex_read(kx_text(hex), &bytes));
    return kx_buffer_slice(&bytes);
}

const char *compact(void *mem, const char *spaced)
{
    char *text = talloc_strdup(mem, spaced);
    char *to = text;
    for (const char *from = spaced; *from != '\0'; from++)
        if (*from != ' ')
            *to++ = *from;
    *to = '\0';
    return text;
}
