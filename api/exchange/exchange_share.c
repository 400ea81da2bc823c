/* Exchanges that wait for their client are in one list of the run queue, in the
 * order in which bytes of them were last seen to move. The current number of
 * bytes is only read when another exchange needs what they hold. */
#include "exchange/exchange_share.h"

#include <talloc.h>

#include "exchange/address_limit.h"

enum {
    KEEP_MAX = 16 * 1024,   /* bytes of a buffer that is kept for reuse: there
                             * may be some hundreds in each loop */
    LARGE = 64 * 1024,      /* bytes of a body above which the request's memory
                             * is measured */
    SLACK_MAX = 16 * 1024,  /* bytes of a final body's buffer left unused */
    SMALL_BODY = 64 * 1024, /* bytes never refused for lack of memory */
    PARTS = 2, /* a client may take all but one of so many parts of a limit */
    SPARE = 16 /* one of so many parts of a limit is to be free for exchanges
                * of other loops */
};

/* An exchange has stalled when fewer than MOVED_LEAST bytes moved during
 * STALLED_NS or longer. */
static const uint64_t STALLED_NS = 1000 * KX_MS_NS;
static const uint64_t MOVED_LEAST = 8 * 1024;

/* After no exchange could be ended for a client, this long passes before the
 * next attempt. */
static const uint64_t IN_VAIN_NS = 10 * KX_MS_NS;

/* How often a loop checks whether exchanges of other loops lack something. */
static const uint64_t LOOK_NS = 100 * KX_MS_NS;

static uint64_t read(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void add(atomic_uint_fast64_t *counter, uint64_t number)
{
    atomic_fetch_add_explicit(counter, number, memory_order_relaxed);
}

static struct service *service_of(const struct exchange *exchange)
{
    return exchange->queue->service;
}

/* ---- Counting ----------------------------------------------------------- */

void exchange_share_enter(struct exchange *exchange,
                          struct client_usage *client)
{
    exchange->counted = true;
    exchange->client = client;
    add(&service_of(exchange)->counters.in_flight, 1);
    if (client == NULL)
        return;
    address_limit_keep(client);
    add(&client->requests, 1);
}

static void uncount_client(struct exchange *exchange)
{
    struct client_usage *client = exchange->client;
    exchange->client = NULL;
    if (client == NULL)
        return;
    add(&client->requests, -(uint64_t)1);
    add(&client->bytes, -exchange->held);
    address_limit_release(service_of(exchange)->address_limit, client);
}

/* When memory ran out the exchange stays counted for its address. */
void exchange_share_know(struct exchange *exchange)
{
    const struct kx_token *token = exchange->request.caller.token;
    if (token == NULL || exchange->client == NULL)
        return;
    struct client_usage *client = address_limit_with_token(
        service_of(exchange)->address_limit, token->id);
    if (client == NULL)
        return;
    uncount_client(exchange);
    exchange->client = client;
    add(&client->requests, 1);
    add(&client->bytes, exchange->held);
}

void exchange_share_hold(struct exchange *exchange, uint64_t bytes)
{
    uint64_t more = bytes - exchange->held;
    if (more == 0 || !exchange->counted)
        return;
    struct counters *counters = &service_of(exchange)->counters;
    exchange->held = bytes;
    add(&counters->body_bytes, more);
    if (read(&counters->body_bytes) > read(&counters->body_bytes_most))
        atomic_store_explicit(&counters->body_bytes_most,
                              read(&counters->body_bytes),
                              memory_order_relaxed);
    if (exchange->client != NULL)
        add(&exchange->client->bytes, more);
}

void exchange_share_leave(struct exchange *exchange)
{
    if (!exchange->counted)
        return;
    exchange_share_hold(exchange, 0);
    uncount_client(exchange);
    add(&service_of(exchange)->counters.in_flight, -(uint64_t)1);
    exchange->counted = false;
}

/* ---- Waiting for the client --------------------------------------------- */

static uint64_t moved(const struct exchange *exchange)
{
    const struct exchange_protocol *protocol = exchange->protocol;
    return exchange->moved +
           (protocol->taken != NULL ? protocol->taken(exchange) : 0);
}

/* Appends with the current time, so the list is in the order of since_ns. */
void exchange_await_client(struct exchange *exchange)
{
    struct run_queue *queue = exchange->queue;
    exchange_leave_client(exchange);
    exchange->awaits_client = true;
    exchange->since_ns = queue->now_ns;
    exchange->moved_before = moved(exchange);
    TAILQ_INSERT_TAIL(&queue->awaiting, exchange, awaiting);
}

void exchange_leave_client(struct exchange *exchange)
{
    if (exchange->awaits_client)
        TAILQ_REMOVE(&exchange->queue->awaiting, exchange, awaiting);
    exchange->awaits_client = false;
}

/* ---- Ending stalled exchanges ------------------------------------------- */

/* The part of a limit that one client may take. */
static uint64_t share_of(uint64_t all)
{
    return all - all / PARTS;
}

/* Is more taken than `most`? One of `spare` parts of it stays free, or nothing
 * if spare is 0. */
static bool exceeds(uint64_t taken, uint64_t most, unsigned spare)
{
    return taken > most - (spare != 0 ? most / spare : 0);
}

/* Does the exchange hold a resource of which its client, or the service, has
 * taken too much? */
static bool holds_scarce(const struct exchange *exchange, unsigned spare)
{
    const struct client_usage *client = exchange->client;
    const struct counters *counters = &service_of(exchange)->counters;
    const struct options *options = service_of(exchange)->options;
    if (exceeds(read(&counters->in_flight), options->requests_max, spare) ||
        (client != NULL && exceeds(read(&client->requests),
                                   share_of(options->requests_max), spare)))
        return true;
    return exchange->held > 0 &&
           (exceeds(read(&counters->body_bytes), options->bodies_max, spare) ||
            (client != NULL && exceeds(read(&client->bytes),
                                       share_of(options->bodies_max), spare)));
}

/* Of the exchanges that hold something scarce, ends the one that has stalled
 * for longest. False when there is no such exchange. */
static bool end_stalled(struct run_queue *queue, unsigned spare)
{
    struct exchange *exchange = TAILQ_FIRST(&queue->awaiting);
    while (exchange != NULL &&
           exchange->since_ns + STALLED_NS <= queue->now_ns) {
        struct exchange *next = TAILQ_NEXT(exchange, awaiting);
        if (!holds_scarce(exchange, spare)) {
            exchange = next;
            continue;
        }
        if (moved(exchange) - exchange->moved_before < MOVED_LEAST) {
            exchange_leave_client(exchange);
            exchange_share_leave(exchange);
            atomic_fetch_add(&queue->service->counters.stalled, 1);
            exchange->protocol->cut(exchange);
            return true;
        }
        exchange_await_client(exchange);
        exchange = next;
    }
    return false;
}

/* Ends a stalled exchange of this run queue. Without such an
 * exchange it notes the shortage for the other loops (exchange_share_look) and
 * returns false. */
static bool free_resources(struct exchange *exchange)
{
    struct run_queue *queue = exchange->queue;
    struct client_usage *client = exchange->client;
    if (exchange->awaits_client)
        exchange_await_client(exchange);
    if (client != NULL &&
        read(&client->in_vain_ns) + IN_VAIN_NS > queue->now_ns)
        return false;
    if (end_stalled(queue, 0))
        return true;
    if (client != NULL)
        atomic_store(&client->in_vain_ns, queue->now_ns);
    atomic_store(&queue->service->counters.short_ns, queue->now_ns);
    return false;
}

static bool fits(const struct exchange *exchange)
{
    const struct service *service = service_of(exchange);
    const struct client_usage *client = exchange->client;
    uint64_t most = service->options->requests_max;
    return read(&service->counters.in_flight) <= most &&
           (client == NULL || read(&client->requests) <= share_of(most));
}

bool exchange_has_place(struct exchange *exchange, bool many)
{
    const struct client_usage *client = exchange->client;
    uint64_t most = share_of(service_of(exchange)->options->requests_max);
    if (many && client != NULL && read(&client->requests) > most / 2)
        return false;
    while (!fits(exchange))
        if (!free_resources(exchange))
            return false;
    return true;
}

bool exchange_fits_memory(const struct exchange *exchange, uint64_t own)
{
    const struct service *service = service_of(exchange);
    const struct client_usage *client = exchange->client;
    uint64_t most = service->options->bodies_max;
    return read(&service->counters.body_bytes) - own <= most &&
           (client == NULL ||
            read(&client->bytes) - exchange->held <= share_of(most));
}

bool exchange_has_memory(struct exchange *exchange, uint64_t own)
{
    while (!exchange_fits_memory(exchange, own))
        if (!free_resources(exchange))
            return false;
    return true;
}

/* ---- Other loops -------------------------------------------------------- */

void exchange_share_look(struct run_queue *queue)
{
    const struct service *service = queue->service;
    if (service->options->loops == 1 || queue->now_ns < queue->look_ns)
        return;
    queue->look_ns = queue->now_ns + LOOK_NS;
    if (read(&service->counters.short_ns) + 2 * LOOK_NS > queue->now_ns)
        while (end_stalled(queue, SPARE))
            ;
}

int exchange_share_timeout_ms(const struct run_queue *queue)
{
    bool looks =
        queue->service->options->loops > 1 && !TAILQ_EMPTY(&queue->awaiting);
    return looks ? (int)(LOOK_NS / KX_MS_NS) : -1;
}

/* ---- What one exchange takes -------------------------------------------- */

void exchange_empty(struct kx_buffer *buffer)
{
    if (buffer->capacity > KEEP_MAX)
        kx_buffer_free(buffer);
    kx_buffer_clear(buffer);
}

void exchange_fit(struct kx_buffer *buffer)
{
    if (buffer->capacity - buffer->size > SLACK_MAX)
        kx_buffer_fit(buffer);
}

/* Values that are decoded from a body, or become one, lie in the request's
 * memory. Measuring that walks through all of it. The walk is cheap compared
 * with the work on a large body; if both bodies are small it is skipped. */
size_t exchange_beside_body(const struct exchange *exchange)
{
    const struct request *request = &exchange->request;
    const struct kx_buffer *reply = &exchange->reply.body;
    bool large = exchange->body.size > LARGE || reply->size > LARGE;
    return reply->capacity +
           (large ? talloc_total_size(request->memory) : request->kept);
}

void exchange_count_memory(struct exchange *exchange)
{
    exchange_share_hold(exchange, exchange->body.capacity +
                                      exchange_beside_body(exchange));
}

/* What a handler has made: nothing of it is used any longer, unless it is the
 * state of a stream. */
static void forget(struct request *request)
{
    talloc_free_children(request->memory);
    request->advice = NULL;
    request->kept = 0;
    request->subject = request->argument;
}

void exchange_refuse_memory(struct exchange *exchange)
{
    const struct options *options = exchange->queue->service->options;
    struct request *request = &exchange->request;
    exchange_empty(&exchange->body);
    exchange_empty(&exchange->reply.body);
    if (exchange->parts == NULL)
        forget(request);
    problem(request, &exchange->reply, PROBLEM_OVERLOADED,
            "The bodies of all requests and replies take more than %llu bytes "
            "(--bodies-max), or the bodies of this client take more than half "
            "of that.",
            (unsigned long long)options->bodies_max);
    exchange_count_memory(exchange);
}

/* A small reply is always sent,
 * and so are the metrics, which tell of the lack and are as large as there are
 * indexes, and the reply of a route that commits, because it tells what was
 * written. The client can repeat any other request. A stream is refused even
 * when it is still empty, because each of its chunks needs memory. */
bool exchange_is_too_much(struct exchange *exchange)
{
    const struct route *route = exchange->request.route;
    size_t size = exchange_beside_body(exchange);
    bool stream = exchange->reply.stream != NULL;
    if ((size == 0 && !stream) || exchange_has_memory(exchange, exchange->held))
        return false;
    return (size > SMALL_BODY || stream) && route != NULL &&
           (route->flags & COMMITS) == 0 && route->scope != SCOPE_MONITOR;
}

bool exchange_may_submit(struct exchange *exchange)
{
    exchange_count_memory(exchange);
    size_t decoded = exchange_beside_body(exchange);
    return exchange->body.size <= SMALL_BODY ||
           exchange_has_memory(exchange, decoded);
}
