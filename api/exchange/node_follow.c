/* Reads on a standby, at the levels that need no active node. Each read of the
 * database sees a state with everything acknowledged until then, so the levels
 * differ in one point only: `session` waits for a position. */
#include "exchange/node.h"

#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "http/problem.h"

/* True if the query has this pair, in its usual spelling. A request with
 * another spelling goes to the active node, which every level allows. */
static bool has_pair(struct kx_slice query, const char *pair)
{
    while (query.size > 0) {
        const uint8_t *next = memchr(query.data, '&', query.size);
        size_t size = next == NULL ? query.size : (size_t)(next - query.data);
        if (kx_equal(kx_slice(query.data, size), kx_text(pair)))
            return true;
        if (next == NULL)
            break;
        query = kx_slice(next + 1, query.size - size - 1);
    }
    return false;
}

static bool waits_for(const struct request *request)
{
    return has_pair(request->query, "consistency=session");
}

static bool concerns_standby(const struct request *request)
{
    return (request->route->flags & OF_STANDBY) != 0 &&
           request->service->options->follow != NULL;
}

static bool may_be_old(const struct request *request)
{
    return (request->route->flags & READS_LEVEL) != 0 &&
           (has_pair(request->query, "consistency=eventual") ||
            waits_for(request));
}

bool node_follows(const struct request *request)
{
    struct service *service = request->service;
    if (service->lacks_token_file)
        return false;
    return concerns_standby(request) ||
           (may_be_old(request) &&
            role_saw_active(&service->role, NODE_FOLLOW_MS));
}

/* ---- The position ------------------------------------------------------- */

/* The digits are written from their end; returns where they begin. */
static char *write_number(char *end, uint64_t number)
{
    do
        *--end = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return end;
}

void node_say_position(struct exchange *exchange, struct kx_position position)
{
    char *text = exchange->position + sizeof exchange->position;
    *--text = '\0';
    text = write_number(text, position.batch);
    *--text = '.';
    text = write_number(text, position.epoch);
    reply_header(&exchange->reply, NODE_AT, text);
}

static bool read_number(const char **text, uint64_t *number_out)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    *number_out = strtoull(*text, &end, 10);
    *text = end;
    return true;
}

/* False: what the client sent is no position. */
static bool read_after(const struct request *request,
                       struct kx_position *least_out)
{
    const char *text =
        waits_for(request) ? request_header(request, NODE_AFTER) : NULL;
    *least_out = (struct kx_position){0};
    return text == NULL ||
           (read_number(&text, &least_out->epoch) && *text++ == '.' &&
            read_number(&text, &least_out->batch) && *text == '\0');
}

/* The ticket is only here. */
static bool end_wait(struct kx_store *store, struct kx_ticket *ticket)
{
    (void)store;
    (void)ticket;
    return true;
}

/* The worker is free for others meanwhile. */
static void wait_or_refuse(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    uint64_t now_ns = kx_monotonic_ns();
    if (exchange->after_until_ns == 0)
        exchange->after_until_ns = now_ns + NODE_AFTER_MS * KX_MS_NS;
    if (now_ns >= exchange->after_until_ns ||
        atomic_load(&request->service->stopping)) {
        problem(request, &exchange->reply, PROBLEM_NOT_CAUGHT_UP,
                "The database had not reached the position of " NODE_AFTER
                " within %d ms.",
                NODE_AFTER_MS);
        return;
    }
    request->wait =
        (struct wait){.ticket = {.owner = exchange},
                      .cancel = end_wait,
                      .until_ns = now_ns + NODE_AFTER_LOOK_MS * KX_MS_NS};
}

/* ---- The read ----------------------------------------------------------- */

/* True if a stream reads its next slice. Its status is already sent. */
static bool is_stream(const struct exchange *exchange)
{
    return exchange->fiber == NULL;
}

/* If the token could not be read, a refusal is meaningless. */
static bool admit(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    struct reply *reply = &exchange->reply;
    bool admitted = exchange->admitted ? access_admit_again(request, reply)
                                       : access_admit(request, reply);
    exchange->admitted = true;
    if (!kx_follower_failed(request->reader))
        return admitted;
    reply->header_count = 0;
    problem(request, reply, PROBLEM_DATABASE_UNREACHABLE,
            "The database did not answer in time.");
    return false;
}

/* A store that is only being made, or of another format, is there later, or for
 * another node. */
static void refuse(struct exchange *exchange, struct kx_fault *fault,
                   enum kx_status status)
{
    fault->status = status;
    if (status == KX_BAD_DIRECTORY)
        problem(&exchange->request, &exchange->reply, PROBLEM_NO_ACTIVE_NODE,
                "This node cannot read the database: %s.", fault->detail);
    else
        problem_status(&exchange->request, &exchange->reply, fault);
}

/* The status of a stream is sent, so nothing can replace its reply: a refusal
 * that did would be sent as if it were the rest of the stream. */
static void break_off(struct exchange *exchange, struct stream *stream)
{
    exchange->reply.stream = stream;
    exchange->reply.status = 200;
    exchange->reply.body.failed = true;
}

/* The status of a stream is sent. */
static void end_without_view(struct exchange *exchange, enum kx_status status,
                             struct kx_fault *fault)
{
    if (is_stream(exchange))
        exchange->reply.body.failed = true;
    else if (status == KX_AGAIN)
        wait_or_refuse(exchange);
    else
        refuse(exchange, fault, status);
}

static void read_and_note(struct exchange *exchange, node_read_fn *read)
{
    if (!is_stream(exchange))
        exchange->seen = kx_follower_position(exchange->request.reader);
    read(exchange, true);
}

void node_follow(struct exchange *exchange, node_read_fn *read)
{
    struct request *request = &exchange->request;
    struct stream *stream = exchange->reply.stream;
    struct kx_fault fault = {.status = KX_OK};
    struct kx_position least;
    exchange->seen = (struct kx_position){0};
    if (!read_after(request, &least)) {
        problem(request, &exchange->reply, PROBLEM_BAD_REQUEST,
                NODE_AFTER " takes the text that an answer has in " NODE_AT
                           ", such as 3.1024.");
        return;
    }
    enum kx_status status =
        kx_follow(request->reader, &least, exchange->read_until_ns, &fault);
    if (status != KX_OK)
        end_without_view(exchange, status, &fault);
    else if (admit(exchange))
        read_and_note(exchange, read);
    else if (is_stream(exchange))
        break_off(exchange, stream);
    kx_read_release(request->reader);
}
