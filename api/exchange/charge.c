/* Clients are in a hash table. Its chains are short: at least one connection or
 * request refers to each entry.
 *
 * Exchanges that wait for their client are in one list of the run queue, in the
 * order in which bytes of them were last seen to move. The current number of
 * bytes is only read when another exchange needs what they hold. */
#include "exchange/charge.h"

#include "exchange/fiber.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum {
    KEEP_MAX = 16 * 1024,   /* bytes of a buffer that is kept for reuse: there
                             * may be some hundreds in each loop */
    LARGE = 64 * 1024,      /* bytes of a body above which the request's memory
                             * is measured */
    SLACK_MAX = 16 * 1024,  /* bytes of a final body's buffer left unused */
    SMALL_BODY = 64 * 1024, /* a body of at most this many bytes is never
                             * refused for lack of memory */
    PARTS = 2,              /* a client may take all of a limit but 1/PARTS */
    SPARE = 16 /* 1/SPARE of a limit stays free for exchanges of other loops */
};

/* An exchange has stalled when fewer than MOVED_LEAST bytes moved during
 * STALLED_NS or longer. */
static const uint64_t STALLED_NS = 1000 * KX_MS_NS;
static const uint64_t MOVED_LEAST = 8 * 1024;

/* Delay before the next attempt if no exchange could be ended for a client. */
static const uint64_t IN_VAIN_NS = 10 * KX_MS_NS;

/* Interval at which a loop checks whether exchanges of other loops are short of
 * a resource. */
static const uint64_t LOOK_NS = 100 * KX_MS_NS;

enum { CHAINS = 4096 };

/* ---- Clients ------------------------------------------------------------ */

LIST_HEAD(chain, tenant);

struct tenants {
    uint64_t share; /* connections of one address */
    size_t loops;
    pthread_mutex_t lock; /* guards what follows */
    struct chain chains[CHAINS];
};

struct tenants *tenants_open(uint64_t share, size_t loops)
{
    struct tenants *tenants = talloc_zero(NULL, struct tenants);
    if (tenants == NULL || pthread_mutex_init(&tenants->lock, NULL) != 0) {
        talloc_free(tenants);
        return NULL;
    }
    tenants->share = share;
    tenants->loops = loops;
    return tenants;
}

void tenants_close(struct tenants *tenants)
{
    if (tenants == NULL)
        return;
    pthread_mutex_destroy(&tenants->lock);
    talloc_free(tenants);
}

/* The number under which an address is counted: IPv4 by all its 32 bits, IPv6
 * by its first 64 bits. These are zero for the loopback and for IPv4-mapped
 * addresses, which therefore count by their last 32 bits. */
static uint64_t address_of(const struct sockaddr_storage *peer)
{
    const struct sockaddr_in *four = (const void *)peer;
    const struct sockaddr_in6 *six = (const void *)peer;
    uint64_t address = 0;
    uint32_t last;
    if (peer->ss_family == AF_INET)
        return four->sin_addr.s_addr;
    memcpy(&address, &six->sin6_addr, sizeof address);
    memcpy(&last, six->sin6_addr.s6_addr + 12, sizeof last);
    return address != 0 ? address : last;
}

static struct chain *chain_of(struct tenants *tenants, uint64_t name)
{
    uint64_t hash = name * UINT64_C(0x9e3779b97f4a7c15);
    return &tenants->chains[hash >> 52];
}

/* Under the lock: returns the entry with this name, and inserts it if it is
 * missing. The caller adds a reference or calls drop(). NULL when memory ran
 * out. */
static struct tenant *find(struct tenants *tenants, uint64_t name,
                           bool by_token)
{
    struct chain *chain = chain_of(tenants, name);
    struct tenant *client;
    LIST_FOREACH(client, chain, chain)
        if (client->name == name && client->by_token == by_token)
            return client;
    client = talloc_zero_size(
        tenants, sizeof *client + tenants->loops * sizeof *client->turns);
    if (client == NULL)
        return NULL;
    client->name = name;
    client->by_token = by_token;
    LIST_INSERT_HEAD(chain, client, chain);
    return client;
}

/* Under the lock: frees the entry if it has no references. */
static void drop(struct tenant *client)
{
    if (atomic_load(&client->references) > 0)
        return;
    LIST_REMOVE(client, chain);
    talloc_free(client);
}

static void tenant_keep(struct tenant *client)
{
    atomic_fetch_add_explicit(&client->references, 1, memory_order_relaxed);
}

struct tenant *tenant_connect(struct tenants *tenants,
                              const struct sockaddr_storage *peer)
{
    pthread_mutex_lock(&tenants->lock);
    struct tenant *client = find(tenants, address_of(peer), false);
    if (client != NULL && client->connections >= tenants->share) {
        drop(client);
        client = NULL;
    }
    if (client != NULL) {
        client->connections++;
        tenant_keep(client);
    }
    pthread_mutex_unlock(&tenants->lock);
    return client;
}

void tenant_disconnect(struct tenants *tenants, struct tenant *client)
{
    if (client == NULL)
        return;
    pthread_mutex_lock(&tenants->lock);
    client->connections--;
    atomic_fetch_sub(&client->references, 1);
    drop(client);
    pthread_mutex_unlock(&tenants->lock);
}

static struct tenant *tenant_of_token(struct tenants *tenants, const char *id)
{
    pthread_mutex_lock(&tenants->lock);
    struct tenant *client = find(tenants, strtoull(id, NULL, 16), true);
    if (client != NULL)
        tenant_keep(client);
    pthread_mutex_unlock(&tenants->lock);
    return client;
}

/* Returns the client of a token, by the token's id in hexadecimal digits. The
 * reference is dropped by tenant_release. NULL when memory ran out. */
/* The last reference is dropped under the lock, because until then find() can
 * return the entry to another thread. */
static void tenant_release(struct tenants *tenants, struct tenant *client)
{
    uint_fast64_t references = atomic_load(&client->references);
    while (references > 1)
        if (atomic_compare_exchange_weak(&client->references, &references,
                                         references - 1))
            return;
    pthread_mutex_lock(&tenants->lock);
    atomic_fetch_sub(&client->references, 1);
    drop(client);
    pthread_mutex_unlock(&tenants->lock);
}

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

void charge_begin(struct exchange *exchange, struct tenant *client)
{
    exchange->counted = true;
    exchange->client = client;
    add(&service_of(exchange)->counters.in_flight, 1);
    if (client == NULL)
        return;
    tenant_keep(client);
    add(&client->requests, 1);
}

static void uncount_client(struct exchange *exchange)
{
    struct tenant *client = exchange->client;
    exchange->client = NULL;
    if (client == NULL)
        return;
    add(&client->requests, -(uint64_t)1);
    add(&client->bytes, -exchange->held);
    if (exchange->streaming)
        add(&client->streams, -(uint64_t)1);
    exchange->streaming = false;
    tenant_release(service_of(exchange)->tenants, client);
}

/* When memory ran out the exchange stays counted for its address. */
void charge_to_token(struct exchange *exchange)
{
    const struct kx_token *token = exchange->request.caller.token;
    if (token == NULL || exchange->client == NULL)
        return;
    struct tenant *client =
        tenant_of_token(service_of(exchange)->tenants, token->id);
    if (client == NULL)
        return;
    uncount_client(exchange);
    exchange->client = client;
    add(&client->requests, 1);
    add(&client->bytes, exchange->held);
}

/* Counts the exchange, for this client if client is not NULL. */
void charge_stream(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    uint64_t most = service_of(exchange)->options->token_streams;
    struct tenant *client = exchange->client;
    const struct stream *stream = exchange->reply.stream;
    if (client == NULL || !client->by_token || request->caller.forwarded ||
        stream == NULL || stream->next == NULL)
        return;
    exchange->streaming = atomic_fetch_add(&client->streams, 1) < most;
    if (exchange->streaming)
        return;
    add(&client->streams, -(uint64_t)1);
    problem(request, &exchange->reply, PROBLEM_TOO_MANY_STREAMS,
            "The token has %llu streams open.", (unsigned long long)most);
    problem_member_number(&exchange->reply, "limit", most);
}

static void hold_bytes(struct exchange *exchange, uint64_t bytes)
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

void charge_end(struct exchange *exchange)
{
    if (!exchange->counted)
        return;
    hold_bytes(exchange, 0);
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
void charge_await_client(struct exchange *exchange)
{
    struct run_queue *queue = exchange->queue;
    charge_leave_client(exchange);
    exchange->awaits_client = true;
    exchange->since_ns = queue->now_ns;
    exchange->moved_before = moved(exchange);
    TAILQ_INSERT_TAIL(&queue->awaiting, exchange, awaiting);
}

void charge_leave_client(struct exchange *exchange)
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

/* True if `taken` exceeds the limit `most`, less a reserve of 1/spare of the
 * limit (no reserve if spare is 0). */
static bool exceeds(uint64_t taken, uint64_t most, unsigned spare)
{
    return taken > most - (spare != 0 ? most / spare : 0);
}

/* True if ending the exchange would free a place or memory that is scarce: its
 * client, or all clients together, exceed the limit on requests or on memory.
 * spare: as for exceeds. */
static bool holds_scarce(const struct exchange *exchange, unsigned spare)
{
    const struct tenant *client = exchange->client;
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

/* Ends one exchange that holds a scarce resource: the one that has stalled for
 * longest. False if no stalled exchange holds a scarce resource. */
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
            charge_leave_client(exchange);
            charge_end(exchange);
            atomic_fetch_add(&queue->service->counters.stalled, 1);
            exchange->protocol->cut(exchange);
            return true;
        }
        charge_await_client(exchange);
        exchange = next;
    }
    return false;
}

/* Ends a stalled exchange of this run queue. If no exchange can be ended, notes
 * the shortage for the other loops (charge_end_stalled) and returns false. */
static bool end_one_stalled(struct exchange *exchange)
{
    struct run_queue *queue = exchange->queue;
    struct tenant *client = exchange->client;
    if (exchange->awaits_client)
        charge_await_client(exchange);
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
    const struct tenant *client = exchange->client;
    uint64_t most = service->options->requests_max;
    return read(&service->counters.in_flight) <= most &&
           (client == NULL || read(&client->requests) <= share_of(most));
}

bool charge_has_place(struct exchange *exchange, bool many)
{
    const struct tenant *client = exchange->client;
    uint64_t most = share_of(service_of(exchange)->options->requests_max);
    if (many && client != NULL && read(&client->requests) > most / 2)
        return false;
    while (!fits(exchange))
        if (!end_one_stalled(exchange))
            return false;
    return true;
}

bool charge_fits_memory(const struct exchange *exchange, uint64_t own)
{
    const struct service *service = service_of(exchange);
    const struct tenant *client = exchange->client;
    uint64_t most = service->options->bodies_max;
    return read(&service->counters.body_bytes) - own <= most &&
           (client == NULL ||
            read(&client->bytes) - exchange->held <= share_of(most));
}

bool charge_has_memory(struct exchange *exchange, uint64_t own)
{
    while (!charge_fits_memory(exchange, own))
        if (!end_one_stalled(exchange))
            return false;
    return true;
}

/* ---- Other loops -------------------------------------------------------- */

void charge_end_stalled(struct run_queue *queue)
{
    const struct service *service = queue->service;
    if (service->options->loops == 1 || queue->now_ns < queue->look_ns)
        return;
    queue->look_ns = queue->now_ns + LOOK_NS;
    if (read(&service->counters.short_ns) + 2 * LOOK_NS > queue->now_ns)
        while (end_stalled(queue, SPARE))
            ;
}

int charge_timeout_ms(const struct run_queue *queue)
{
    bool looks =
        queue->service->options->loops > 1 && !TAILQ_EMPTY(&queue->awaiting);
    return looks ? (int)(LOOK_NS / KX_MS_NS) : -1;
}

/* ---- What one exchange takes -------------------------------------------- */

void exchange_empty_buffer(struct kx_buffer *buffer)
{
    if (buffer->capacity > KEEP_MAX)
        kx_buffer_free(buffer);
    kx_buffer_clear(buffer);
}

void exchange_trim_buffer(struct kx_buffer *buffer)
{
    if (buffer->capacity - buffer->size > SLACK_MAX)
        kx_buffer_fit(buffer);
}

/* Values that are decoded from a body, or become one, lie in the request's
 * memory. Measuring that walks through all of it. The walk is cheap compared
 * with the work on a large body; if both bodies are small it is skipped. */
static size_t made_bytes(const struct exchange *exchange)
{
    const struct request *request = &exchange->request;
    const struct kx_buffer *reply = &exchange->reply.body;
    bool large = exchange->body.size > LARGE || request->body.size > LARGE ||
                 reply->size > LARGE;
    return reply->capacity +
           (large ? talloc_total_size(request->memory) : request->kept);
}

void charge_memory(struct exchange *exchange)
{
    size_t stack = exchange->fiber != NULL ? FIBER_KEPT : 0;
    hold_bytes(exchange,
               exchange->body.capacity + made_bytes(exchange) + stack);
}

/* Frees everything that a handler has allocated in the request's memory. Not
 * for a reply in parts, whose state lies there. */
static void forget(struct request *request)
{
    talloc_free_children(request->memory);
    request->advice = NULL;
    request->kept = 0;
    request->body = kx_slice(NULL, 0);
    request->subject = request->argument;
}

void charge_refuse(struct exchange *exchange)
{
    const struct options *options = exchange->queue->service->options;
    struct request *request = &exchange->request;
    exchange_empty_buffer(&exchange->body);
    exchange_empty_buffer(&exchange->reply.body);
    if (exchange->parts == NULL) {
        forget(request);
        exchange->coder = NULL;
    }
    problem(request, &exchange->reply, PROBLEM_OVERLOADED,
            "The bodies of all requests and replies take more than %llu bytes "
            "(--bodies-max), or the bodies of this client take more than half "
            "of that.",
            (unsigned long long)options->bodies_max);
    charge_memory(exchange);
}

/* A small reply is always sent,
 * and so are the metrics, which tell of the lack and are as large as there are
 * indexes, and the reply of a route that commits, because it tells what was
 * written. The client can repeat any other request. A stream is refused even
 * when it is still empty, because each of its chunks needs memory. */
bool charge_refuses_reply(struct exchange *exchange)
{
    const struct route *route = exchange->request.route;
    size_t size = made_bytes(exchange);
    bool stream = exchange->reply.stream != NULL;
    if ((size == 0 && !stream) || charge_has_memory(exchange, exchange->held))
        return false;
    return (size > SMALL_BODY || stream) && route != NULL &&
           (route->flags & COMMITS) == 0 && route->scope != SCOPE_MONITOR;
}

bool charge_allows_commit(struct exchange *exchange)
{
    charge_memory(exchange);
    size_t decoded = made_bytes(exchange);
    return exchange->request.body.size <= SMALL_BODY ||
           charge_has_memory(exchange, decoded);
}
