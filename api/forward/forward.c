/* The handler that forwards: it waits for the answer like a handler that waits
 * for a notification, and a long body becomes a stream. If the active node
 * changes meanwhile, the previous node will not answer. */
#include "forward/forward.h"

#include "exchange/exchange.h"
#include "forward/transfer.h"
#include "http/problem.h"

enum {
    TRIES_MAX = 2 /* of a request that could not be sent */
};

/* The interval of checks whether another node has become active. */
static const uint64_t LOOK_NS = 500 * KX_MS_NS;

static void count(const struct request *request, enum forwarded result)
{
    atomic_fetch_add_explicit(&request->service->counters.forwarded[result], 1,
                              memory_order_relaxed);
}

/* ---- Giving up ---------------------------------------------------------- */

/* True if another node has become active since. */
static bool is_outdated(const struct transfer *transfer)
{
    struct kx_holder holder;
    return role_holder(&transfer->request->service->role, &holder) &&
           holder.epoch != transfer->epoch;
}

/* Returns the reason why no answer will arrive, or NULL. */
static const char *reason_to_give_up(struct transfer *transfer)
{
    uint64_t now_ns = kx_monotonic_ns();
    if (transfer->stop_ns == 0 && transfer->request->service->stopping)
        transfer->stop_ns = now_ns + FORWARD_STOP_MS * (uint64_t)KX_MS_NS;
    if (transfer->stop_ns != 0 && now_ns >= transfer->stop_ns)
        return "this node stops";
    if (now_ns - transfer->moved_ns >= FORWARD_SILENCE_MS * (uint64_t)KX_MS_NS)
        return "it is silent";
    return is_outdated(transfer) ? "another node is active now" : NULL;
}

static void await(struct transfer *transfer)
{
    transfer_await(transfer, kx_monotonic_ns() + LOOK_NS);
}

/* ---- Answers ------------------------------------------------------------ */

static void refuse(struct request *request, struct reply *reply)
{
    count(request, FORWARDED_UNREACHABLE);
    problem(request, reply, PROBLEM_NO_ACTIVE_NODE,
            "This node is a standby, and no node is active now.");
}

/* Answers that the active node gave no complete answer. */
static void fail(const struct transfer *transfer, struct reply *reply,
                 const char *why)
{
    struct request *request = transfer->request;
    if (transfer->sends == 0) {
        count(request, FORWARDED_UNREACHABLE);
        problem(request, reply, PROBLEM_NO_ACTIVE_NODE,
                "The active node cannot be reached: %s.", why);
        return;
    }
    count(request, FORWARDED_UNANSWERED);
    problem(request, reply,
            transfer->writes ? PROBLEM_COMMIT_UNKNOWN : PROBLEM_NO_ACTIVE_NODE,
            "The request was sent to the active node, whose answer did "
            "not come: %s.",
            why);
}

static const char *failure_of(const struct transfer *transfer)
{
    return transfer->why[0] != '\0' ? transfer->why
                                    : curl_easy_strerror(transfer->code);
}

/* The stream's `next`: passes a long body on in pieces. An incomplete body is
 * cut off. A watch ends normally at any time, even if the active node was
 * killed, because @deno/kv restarts a watch only after a normal end. */
static bool next(struct stream *stream, struct kx_buffer *chunk,
                 uint64_t *flush_out)
{
    struct transfer *transfer = stream->state;
    (void)flush_out;
    transfer_resume(transfer);
    transfer_take(transfer, chunk);
    if (chunk->size > 0)
        return true;
    if (transfer->ended) {
        chunk->failed |= transfer->code != CURLE_OK && !transfer->lasting;
        return false;
    }
    if (reason_to_give_up(transfer) != NULL ||
        (transfer->lasting && transfer->stop_ns != 0)) {
        chunk->failed |= !transfer->lasting;
        return false;
    }
    await(transfer);
    return true;
}

/* True if the reply is a stream. Answers to HEAD and 304 have no body, but may
 * state its length. */
static bool is_stream(const struct transfer *transfer)
{
    const struct forward_head *head = &transfer->head;
    if (transfer->request->method == METHOD_HEAD || head->status == 304)
        return head->sized ? head->size > 0 : head->status == 200;
    return head->chunked || !transfer->ended;
}

static void answer(struct transfer *transfer, struct reply *reply)
{
    count(transfer->request, FORWARDED_ANSWERED);
    forward_head_reply(&transfer->head, reply);
    transfer->replied = true;
    transfer->stream = (struct stream){.next = next,
                                       .request = transfer->request,
                                       .state = transfer,
                                       .size = transfer->head.size,
                                       .needs_no_view = true,
                                       .lasting = transfer->lasting};
    if (is_stream(transfer))
        reply->stream = &transfer->stream;
    else
        transfer_take(transfer, &reply->body);
}

/* ---- The request -------------------------------------------------------- */

/* Sends the request to the active node, on the loop's own stack, which is large
 * enough for libcurl. If that fails the reply says why. */
static void send_it(struct request *request, struct reply *reply, void *arg)
{
    struct transfer *transfer = arg;
    struct kx_holder holder;
    if (!role_holder(&request->service->role, &holder))
        refuse(request, reply);
    else if (transfer_begin(transfer, &holder))
        await(transfer);
    else
        reply->body.failed = true;
}

/* Returns NULL if the reply says why not. */
static struct transfer *make_transfer(struct request *request,
                                      struct reply *reply)
{
    const struct exchange *exchange = request->wait.ticket.owner;
    struct forward *forward = exchange->queue->forward;
    if (!forward_has_room(forward, request->route->scope == SCOPE_WATCH)) {
        count(request, FORWARDED_REFUSED);
        problem(request, reply, PROBLEM_OVERLOADED,
                "As many requests as may be are on their way from this node to "
                "the active one.");
        return NULL;
    }
    struct transfer *transfer = transfer_new(forward, request);
    reply->body.failed |= transfer == NULL;
    return transfer;
}

/* True if the transfer may be tried again: it failed before the request was
 * sent. */
static bool may_retry(const struct transfer *transfer)
{
    return transfer->ended && transfer->code != CURLE_OK &&
           transfer->sends == 0 && transfer->tries < TRIES_MAX;
}

/* Answers if the answer, or its failure, is known. */
static bool is_over(struct transfer *transfer, struct reply *reply)
{
    const char *why = reason_to_give_up(transfer);
    if (transfer->ended && transfer->code != CURLE_OK)
        fail(transfer, reply, failure_of(transfer));
    else if (transfer_is_answered(transfer))
        answer(transfer, reply);
    else if (why != NULL)
        fail(transfer, reply, why);
    else
        return false;
    return true;
}

void forward_handle(struct request *request, struct reply *reply)
{
    struct transfer *transfer = make_transfer(request, reply);
    if (transfer == NULL)
        return;
    request_apart(request, send_it, transfer);
    while (reply->status == 0 && !reply->body.failed && request_wait(request)) {
        transfer_resume(transfer);
        if (may_retry(transfer))
            request_apart(request, send_it, transfer);
        else if (!is_over(transfer, reply))
            await(transfer);
        else
            break;
    }
}
