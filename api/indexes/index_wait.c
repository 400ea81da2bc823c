/* Prefer: wait=N. How long a request has waited is kept with it. */
#include "indexes/index_wait.h"

#include <stdatomic.h>
#include <talloc.h>

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

/* The request's own, made when it is first asked for. NULL without memory. */
static struct wait_limit *limit_of(struct request *request)
{
    struct wait_limit *limit = request->state;
    if (limit != NULL)
        return limit;
    limit = talloc_zero(request->memory, struct wait_limit);
    if (limit == NULL)
        return NULL;
    limit->seconds = prefer_wait(request->header(request, "Prefer"));
    limit->until_ns =
        kx_monotonic_ns() + (uint64_t)limit->seconds * KX_SECOND_NS;
    request->state = limit;
    return limit;
}

/* Of what was begun with a token that is not good any more the end is not
 * waited for. */
static bool has_ended(const struct request *request,
                      const struct wait_limit *limit)
{
    return limit->seconds == 0 || kx_monotonic_ns() >= limit->until_ns ||
           !access_holds(request) || atomic_load(&request->service->stopping);
}

/* False when there is no such index. */
static bool is_settled(struct request *request, struct kx_slice name,
                       bool *settled_out)
{
    struct kx_index_info info;
    kx_read_begin(request->reader);
    bool found = index_find(request, name, &info);
    *settled_out = found && index_settled(&info);
    kx_read_end(request->reader);
    return found;
}

enum progress index_await(struct request *request, struct reply *reply,
                          struct kx_slice name, enum kx_index_state *state_out)
{
    struct wait_limit *limit = limit_of(request);
    bool settled = false;
    if (limit == NULL) {
        reply->body.failed = true;
        reply->status = 503;
        return DONE;
    }
    for (;;) {
        uint64_t seen = kx_news(request->service->store);
        if (!is_settled(request, name, &settled))
            return index_missing(request, reply, name);
        if (settled || has_ended(request, limit))
            break;
        if (index_wait_news(request, seen, limit->until_ns))
            return WAIT;
    }
    if (!index_append(request, reply, name, state_out))
        return index_missing(request, reply, name);
    if (limit->seconds != 0)
        reply_headerf(request, reply, "Preference-Applied", "wait=%u",
                      limit->seconds);
    return DONE;
}
