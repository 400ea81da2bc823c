/* Prefer: wait=N. How long a request has waited is kept with it. */
#include "indexes/index_wait.h"

#include <stdatomic.h>
#include <talloc.h>

#include "access/access.h"
#include "indexes/index_find.h"
#include "http/prefer.h"
#include "http/service.h"

struct patience {
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
static struct patience *patience_of(struct request *request)
{
    struct patience *patience = request->state;
    if (patience != NULL)
        return patience;
    patience = talloc_zero(request->memory, struct patience);
    if (patience == NULL)
        return NULL;
    patience->seconds = prefer_wait(request->header(request, "Prefer"));
    patience->until_ns =
        kx_monotonic_ns() + (uint64_t)patience->seconds * KX_SECOND_NS;
    request->state = patience;
    return patience;
}

/* Of what was begun with a token that is not good any more the end is not
 * waited for. */
static bool is_over(const struct request *request,
                    const struct patience *patience)
{
    return patience->seconds == 0 || kx_monotonic_ns() >= patience->until_ns ||
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
    struct patience *patience = patience_of(request);
    bool settled = false;
    if (patience == NULL) {
        reply->body.failed = true;
        reply->status = 503;
        return DONE;
    }
    for (;;) {
        uint64_t seen = kx_news(request->service->store);
        if (!is_settled(request, name, &settled))
            return index_missing(request, reply, name);
        if (settled || is_over(request, patience))
            break;
        if (index_wait_news(request, seen, patience->until_ns))
            return WAIT;
    }
    if (!index_append(request, reply, name, state_out))
        return index_missing(request, reply, name);
    if (patience->seconds != 0)
        reply_headerf(request, reply, "Preference-Applied", "wait=%u",
                      patience->seconds);
    return DONE;
}
