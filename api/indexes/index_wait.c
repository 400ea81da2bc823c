/* Prefer: wait=N. */
#include "indexes/index_wait.h"

#include <stdatomic.h>

#include "access/access.h"
#include "indexes/index_find.h"
#include "http/prefer.h"
#include "http/service.h"

struct wait_limit {
    unsigned seconds; /* 0: none */
    uint64_t until_ns;
};

bool index_settled(const struct kx_index_info *info)
{
    enum kx_index_state state =
        info->state == KX_INDEX_MIGRATING ? info->migration : info->state;
    return state != KX_INDEX_BUILDING;
}

bool index_wait_news(struct request *request, uint64_t seen, uint64_t until_ns)
{
    struct wait *wait = &request->wait;
    if (kx_news_wait(request->service->store, seen, &wait->ticket) != KX_OK)
        return false;
    wait->cancel = kx_news_cancel;
    wait->until_ns = until_ns;
    return true;
}

/* Of what was begun with a token that is not good any more the end is not
 * waited for. */
static bool has_ended(const struct request *request,
                      const struct wait_limit *limit)
{
    return limit->seconds == 0 || kx_monotonic_ns() >= limit->until_ns ||
           !access_holds(request) || atomic_load(&request->service->stopping);
}

/* What a look at the index has found. */
struct index_look {
    struct kx_slice name;
    enum kx_index_state *state_out;
    bool last;  /* it is shown even if its state has not settled */
    bool shown; /* the reply has it */
};

static void look_at(struct request *request, struct reply *reply, void *arg)
{
    struct index_look *look = arg;
    struct kx_index_info info;
    kx_read_begin(request->reader);
    bool found = index_find(request, look->name, &info);
    bool settled = found && index_settled(&info);
    kx_read_end(request->reader);
    if (found && (settled || look->last))
        found = look->shown =
            index_append(request, reply, look->name, look->state_out);
    if (!found)
        index_missing(request, reply, look->name);
}

bool index_await(struct request *request, struct reply *reply,
                 struct kx_slice name, enum kx_index_state *state_out)
{
    struct index_look look = {.name = name, .state_out = state_out};
    struct wait_limit limit = {
        .seconds = prefer_wait(request_header(request, "Prefer"))};
    limit.until_ns = kx_monotonic_ns() + (uint64_t)limit.seconds * KX_SECOND_NS;
    for (;;) {
        uint64_t seen = kx_news(request->service->store);
        look.last = has_ended(request, &limit);
        if (!request_read(request, look_at, &look) || reply->status != 0)
            return false;
        if (look.shown)
            break;
        if (index_wait_news(request, seen, limit.until_ns) &&
            !request_wait(request))
            return false;
    }
    if (limit.seconds != 0)
        reply_headerf(request, reply, "Preference-Applied", "wait=%u",
                      limit.seconds);
    return true;
}
