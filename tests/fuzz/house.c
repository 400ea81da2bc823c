#include "house.h"

#include <ftw.h>
#include <poll.h>
#include <strings.h>
#include <unistd.h>

#include "exchange/exchange_call.h"
#include "exchange/exchange_loop.h"
#include "exchange/workers.h"
#include "server/routes.h"

enum { HOUSE_CHUNKS_MAX = 64, HOUSE_WAIT_MS = 20000 };

struct house house;

/* Tickets of the house's own commits have it as their owner. */
static void house_answer(void *context, struct kx_ticket *first)
{
    struct kx_ticket *others = NULL;
    (void)context;
    while (first != NULL) {
        struct kx_ticket *next = first->next;
        if (first->owner == &house) {
            house.answered = first;
        } else {
            first->next = others;
            others = first;
        }
        first = next;
    }
    if (others != NULL)
        run_queue_put(&house.queue, others);
}

static enum kx_status house_commit(struct kx_commit *commit)
{
    commit->ticket.owner = &house;
    house.answered = NULL;
    enum kx_status status = kx_submit_alone(house.service.store, commit);
    if (status != KX_OK)
        return status;
    while (house.answered != &commit->ticket)
        poll(NULL, 0, 1);
    return commit->status;
}

static struct kx_slice house_key(void *memory, const char *json)
{
    struct kx_buffer key;
    kx_buffer_init(&key, memory);
    assert_int_equal(kx_key_from_json(kx_text(json), &key, NULL), KX_OK);
    return kx_buffer_slice(&key);
}

/* ---- What it begins with ------------------------------------------------ */

static void house_furnish(void *memory)
{
    static const char *const declarations[] = {
        "{\"name\":\"by_email\",\"prefix\":[\"u\"],\"fields\":[\"/e\"],"
        "\"unique\":true}",
        "{\"name\":\"by_tag\",\"prefix\":[\"u\"],\"store\":\"value\","
        "\"fields\":[{\"path\":\"/t\",\"each\":true}]}"};
    static const char *const entries[][2] = {
        {"[\"u\",\"a\"]", "{\"e\":\"a@x\",\"t\":[\"red\",\"blue\"]}"},
        {"[\"u\",\"b\"]", "{\"e\":\"b@x\",\"t\":[\"red\"]}"},
        {"[\"n\",1]", "1"},
        {"[\"n\",2]", "\"two\""}};
    struct kx_mutation mutations[4];
    struct kx_commit commit = {
        .mutations = mutations, .mutation_count = 4, .memory = memory};
    for (size_t i = 0; i < 2; i++) {
        struct kx_commit declare = {.command.kind = KX_DECLARE_INDEX,
                                    .command.declaration =
                                        kx_text(declarations[i]),
                                    .memory = memory};
        assert_int_equal(house_commit(&declare), KX_OK);
    }
    for (size_t i = 0; i < 4; i++)
        mutations[i] = (struct kx_mutation){
            .type = KX_SET,
            .key = house_key(memory, entries[i][0]),
            .value = {.encoding = KX_JSON, .data = kx_text(entries[i][1])}};
    assert_int_equal(house_commit(&commit), KX_OK);
}

static uint64_t house_stamp(void)
{
    struct kx_stats figures;
    kx_stats_read(house.service.store, &figures);
    return figures.stamp;
}

static int house_remove(const char *path, const struct stat *stat, int type,
                        struct FTW *place)
{
    (void)stat;
    (void)type;
    (void)place;
    return remove(path);
}

static void house_leave(void)
{
    workers_close(house.service.workers);
    run_queue_close(&house.queue);
    kx_close(house.service.store);
    nftw(house.directory, house_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static void house_open_store(void *memory)
{
    struct kx_options options;
    const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(house.directory, sizeof house.directory, "%s/kindex-fuzz-XXXXXX",
             where);
    assert_non_null(mkdtemp(house.directory));
    kx_options_default(&options);
    options.directory = house.directory;
    options.cache_bytes = 4 << 20;
    options.checkpoint_bytes = 1 << 20;
    options.disk_floor = 0;
    options.answer = house_answer;
    kx_log_level(KX_LOG_ERROR);
    assert_int_equal(kx_open(&options, &house.service.store, NULL), KX_OK);
    house_furnish(memory);
    house.stamp = house_stamp();
}

void house_open(void *memory)
{
    char *arguments[] = {"fuzz", NULL};
    if (house.service.store != NULL)
        return;
    assert_true(options_read(&house.options, 1, arguments));
    house.options.listen.all[0].loopback = false; /* with any name */
    house.service.options = &house.options;
    house.service.routes = &ROUTES;
    house.service.counters.connections = 1;
    house_open_store(memory);
    house.service.workers =
        workers_open(&house.service, 1, 0, exchange_call_serve);
    assert_non_null(house.service.workers);
    assert_true(run_queue_open(&house.queue, &house.service, 0));
    atexit(house_leave);
}

/* The names of all indexes but those of the furniture. */
static bool house_stranger(void *memory, struct kx_slice *name_out)
{
    struct kx_index_info info;
    struct kx_reader *reader = house.queue.reader;
    bool found = false;
    kx_read_begin(reader);
    for (size_t n = 0; !found && kx_index_at(reader, n, &info) == KX_OK; n++) {
        found = info.state != KX_INDEX_DROPPING;
        if (found)
            *name_out = fuzz_alone(info.name, memory);
    }
    kx_read_end(reader);
    return found;
}

void house_tidy(void *memory)
{
    struct kx_slice name;
    if (house_stamp() == house.stamp)
        return;
    while (house_stranger(memory, &name)) {
        struct kx_commit drop = {.command.kind = KX_DROP_INDEX,
                                 .command.index_name = name,
                                 .memory = memory};
        assert_int_equal(house_commit(&drop), KX_OK);
    }
    struct kx_mutation all = {.type = KX_DELETE_RANGE,
                              .key = kx_slice("\x01", 1),
                              .end = kx_slice("\xff", 1),
                              .limit = KX_PAGE_MAX};
    struct kx_commit clear = {
        .mutations = &all, .mutation_count = 1, .memory = memory};
    assert_int_equal(house_commit(&clear), KX_OK);
    house_furnish(memory);
    house.stamp = house_stamp();
}

/* ---- Exchanges ---------------------------------------------------------- */

static const char *house_header(const struct request *request, const char *name)
{
    const struct house_request *sent = request->connection;
    struct kx_slice rest = sent->head;
    const char *found = NULL;
    while (rest.size > 0) {
        struct kx_slice line = fuzz_until(&rest, '\n');
        struct kx_slice first = fuzz_until(&line, ':');
        if (first.size != strlen(name) ||
            strncasecmp((const char *)first.data, name, first.size) != 0)
            continue;
        while (line.size > 0 && line.data[0] == ' ')
            fuzz_take(&line, 1);
        const char *value =
            talloc_strndup(request->memory, (const char *)line.data, line.size);
        found = found == NULL
                    ? value
                    : talloc_asprintf(request->memory, "%s, %s", found, value);
    }
    return found;
}

static void house_ready(struct exchange *exchange)
{
    struct house_request *sent = exchange->request.connection;
    sent->ready = true;
}

static const struct exchange_protocol HOUSE_PROTOCOL = {.ready = house_ready};

/* Lets the queue work until the exchange is ready. One that waits for news
 * would wait for ever: its client goes away. */
static void house_wait(struct exchange *exchange)
{
    struct house_request *sent = exchange->request.connection;
    struct pollfd answers = {.fd = house.queue.answers_fd, .events = POLLIN};
    for (int i = 0; !sent->ready; i++) {
        bool news = exchange->awaits == AWAITS_NEWS;
        assert_true(i < HOUSE_WAIT_MS);
        if (exchange_loop_answers(&house.queue) ||
            exchange_loop_turns(&house.queue))
            continue;
        if (news && !exchange->client_gone)
            exchange_cancel(exchange);
        else
            poll(&answers, 1, 1);
    }
    sent->ready = false;
}

/* Is what has this type JSON? Others that end with +json are a client's own. */
static bool house_is_json(const char *type)
{
    return strcmp(type, "application/json") == 0 ||
           strcmp(type, "application/problem+json") == 0 ||
           strcmp(type, "application/vnd.kindex.typed+json") == 0;
}

static void house_check_reply(const struct reply *reply)
{
    struct kx_fault fault;
    assert_true(reply->status >= 200 && reply->status < 600);
    assert_int_not_equal(reply->status, 500);
    assert_false(reply->body.failed);
    for (size_t i = 0; i < reply->header_count; i++)
        assert_null(strpbrk(reply->headers[i].value, "\r\n"));
    if (reply->content_type == NULL || reply->stream != NULL)
        return;
    assert_null(strpbrk(reply->content_type, "\r\n"));
    if (house_is_json(reply->content_type) && reply->body.size > 0 &&
        reply->status != 304 &&
        kx_json_check(kx_buffer_slice(&reply->body), &fault) != KX_OK)
        fail_msg("%s: %.*s", fault.detail, (int)reply->body.size,
                 (const char *)reply->body.data);
}

static void house_pull(struct exchange *exchange)
{
    uint8_t chunk[4096];
    size_t size = 0;
    for (int i = 0; i < HOUSE_CHUNKS_MAX && !exchange->client_gone; i++) {
        enum exchange_chunk got =
            exchange_chunk(exchange, chunk, sizeof chunk, &size);
        if (got == CHUNK_PARK)
            house_wait(exchange);
        else if (got != CHUNK_DATA)
            return;
    }
}

int house_send(struct house_request *sent)
{
    struct exchange *exchange = exchange_begin(&house.queue, NULL);
    assert_non_null(exchange);
    exchange_target(exchange, (const char *)sent->target.data,
                    sent->target.size);
    exchange->request.method = sent->method;
    exchange->request.header = house_header;
    exchange->request.connection = sent;
    exchange->protocol = &HOUSE_PROTOCOL;
    exchange_open(exchange, sent->body.size);
    if (sent->body.size > 0)
        exchange_body(exchange, sent->body.data, sent->body.size);
    if (exchange_run(exchange) == EXCHANGE_PARK)
        house_wait(exchange);
    int status = exchange->reply.status;
    if (!exchange->client_gone) {
        house_check_reply(&exchange->reply);
        if (exchange->reply.stream != NULL)
            house_pull(exchange);
    }
    exchange_end(exchange);
    return status;
}
