/* The limits of one token: requests in each minute of the clock, and concurrent
 * streams. */
#include "access/access_state.h"

#include <stdatomic.h>

#include "http/service.h"

enum { COUNT_REQUESTS, COUNT_STREAMS };
enum { WINDOW_SECONDS = 60, NUMBER_BITS = 32 };

static uint64_t now_seconds(void)
{
    return (uint64_t)kx_now_ms() / 1000;
}

/* The upper half of the counter is the number of the minute, the lower half the
 * number of requests in it. */
static uint64_t requests_of(uint64_t counter)
{
    return counter >> NUMBER_BITS == now_seconds() / WINDOW_SECONDS
               ? counter & UINT32_MAX
               : 0;
}

static uint64_t count_one(struct kx_token *token)
{
    atomic_uint_fast64_t *counter = &token->uses[COUNT_REQUESTS];
    uint64_t window = now_seconds() / WINDOW_SECONDS << NUMBER_BITS;
    uint_fast64_t before = atomic_load(counter);
    uint64_t now;
    do
        now = before >> NUMBER_BITS == window >> NUMBER_BITS ? before + 1
                                                             : window + 1;
    while (!atomic_compare_exchange_weak(counter, &before, now));
    return now & UINT32_MAX;
}

static unsigned seconds_left(void)
{
    return WINDOW_SECONDS - (unsigned)(now_seconds() % WINDOW_SECONDS);
}

/* draft-ietf-httpapi-ratelimit-headers. */
static void add_headers(struct request *request, struct reply *reply,
                        uint64_t left)
{
    uint64_t quota = request->service->options->token_rate;
    reply_headerf(request, reply, "RateLimit", "\"default\";r=%llu;t=%u",
                  (unsigned long long)left, seconds_left());
    reply_headerf(request, reply, "RateLimit-Policy", "\"default\";q=%llu;w=%d",
                  (unsigned long long)quota, WINDOW_SECONDS);
}

bool access_count(struct request *request, struct reply *reply)
{
    uint64_t quota = request->service->options->token_rate;
    if (count_one(request->caller.token) <= quota)
        return true;
    problem(request, reply, PROBLEM_RATE_LIMITED,
            "The token has sent more than %llu requests in this minute.",
            (unsigned long long)quota);
    problem_member_number(reply, "limit", quota);
    reply->header_count = 0; /* the table's Retry-After is too long */
    reply_headerf(request, reply, "Retry-After", "%u", seconds_left());
    return false;
}

void access_quota(struct request *request, struct reply *reply)
{
    uint64_t quota = request->service->options->token_rate;
    uint64_t used =
        requests_of(atomic_load(&request->caller.token->uses[COUNT_REQUESTS]));
    if (used >= quota / 2)
        add_headers(request, reply, used < quota ? quota - used : 0);
}

void access_stream(struct request *request, struct reply *reply)
{
    uint64_t limit = request->service->options->token_streams;
    atomic_uint_fast64_t *streams = &request->caller.token->uses[COUNT_STREAMS];
    if (atomic_fetch_add(streams, 1) < limit) {
        request->caller.streaming = true;
        return;
    }
    atomic_fetch_sub(streams, 1);
    problem(request, reply, PROBLEM_TOO_MANY_STREAMS,
            "The token has %llu streams open.", (unsigned long long)limit);
    problem_member_number(reply, "limit", limit);
}

void access_end_stream(struct request *request)
{
    if (request->caller.streaming)
        atomic_fetch_sub(&request->caller.token->uses[COUNT_STREAMS], 1);
}
