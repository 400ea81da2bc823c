/* A half is a section, or, for a large body, work; what it returns becomes a
 * call. */
#include "exchange/halves.h"

#include "access/access.h"
#include "exchange/workers.h"

struct half {
    handler_fn *run;
    struct reply *reply;
    enum progress progress;
    bool views; /* it needs a view */
    bool large; /* it reads a large body */
};

static void run_section(struct request *request, struct reply *reply, void *arg)
{
    struct half *half = arg;
    half->progress = half->run(request, reply);
}

static void run_work(struct request *request, void *arg)
{
    struct half *half = arg;
    half->progress = half->run(request, half->reply);
}

static bool is_free(const struct request *request)
{
    const struct kx_slice all = kx_slice(NULL, 0);
    return request->caller.token == NULL ||
           (access_covers(request, request->route->scope, all) &&
            ((request->route->flags & COMMITS) == 0 ||
             (access_covers(request, SCOPE_READ, all) &&
              access_covers(request, SCOPE_LIST, all))));
}

/* Runs the half where it may run. */
static bool run_half(struct request *request, struct half *half)
{
    if (half->large)
        return request_work(request, run_work, half);
    if (half->views)
        return request_read(request, run_section, half);
    request_apart(request, run_section, half);
    return true;
}

/* Waits for what the half wants. False: it has ended. */
static bool wait_for(struct request *request, struct half *half,
                     handler_fn *finish)
{
    switch (half->progress) {
    case DONE:
        break;
    case VIEW:
        return half->views = true;
    case AGAIN:
        return request_turn(request);
    case WAIT:
        return request_wait(request);
    case COMMIT:
        half->run = finish;
        if (!request_commit(request))
            return false;
        half->views = request->commit.status != KX_OK ||
                      request->route->scope == SCOPE_INDEX;
        return true;
    }
    return false;
}

void halves_run(struct request *request, struct reply *reply,
                handler_fn *handle, handler_fn *finish)
{
    bool elsewhere = request->caller.elsewhere;
    struct half half = {
        .run = handle,
        .reply = reply,
        .views = !elsewhere && ((request->route->flags & READS_VIEW) != 0 ||
                                !is_free(request) || request->caller.follows),
        .large = !elsewhere && request->body.size > BODY_ON_LOOP_MAX};
    while (run_half(request, &half)) {
        half.large = false;
        request->slices += half.run == handle;
        if (!wait_for(request, &half, finish))
            return;
    }
}
