/* Which half needs a view, and how it is run on whichever thread has one. */
#include "exchange/exchange_half.h"

#include "access/access.h"
#include "exchange/admission.h"
#include "exchange/exchange_stream.h"
#include "exchange/exchange_wait.h"
#include "exchange/node.h"

/* Has the caller all rights on all keys that the first half may need? What a
 * commit does may also need the right to read or to list (access_commit). */
static bool is_free(const struct request *request)
{
    const struct kx_slice all = kx_slice(NULL, 0);
    const struct route *route = request->route;
    return request->caller.token == NULL ||
           (access_covers(request, route->scope, all) &&
            (route->finish == NULL ||
             (access_covers(request, SCOPE_READ, all) &&
              access_covers(request, SCOPE_LIST, all))));
}

/* Most refusals of a commit, and replies about indexes, read the declared
 * indexes. The rights of a token that does not cover all keys depend on them as
 * well. */
bool exchange_needs_view(const struct exchange *exchange)
{
    const struct request *request = &exchange->request;
    if (exchange->views)
        return true;
    if (exchange->finishing)
        return request->commit.status != KX_OK ||
               request->route->scope == SCOPE_INDEX;
    return (request->route->reads & READS_VIEW) != 0 || !is_free(request);
}

/* Calls the first half, unless the body worker has: then what it returned
 * holds, once, except that it needs a view. */
static enum progress run_first_half(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    enum progress progress = exchange->progress;
    kx_reader_count(request->reader, &exchange->reads);
    if (!exchange->read || progress == VIEW)
        progress = request->route->handle(request, &exchange->reply);
    exchange->progress = VIEW;
    request->slices++;
    return progress;
}

static enum progress run_second_half(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    kx_reader_count(request->reader, &exchange->reads);
    return request->route->finish(request, &exchange->reply);
}

enum progress exchange_half(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    enum progress progress = exchange->finishing ? run_second_half(exchange)
                                                 : run_first_half(exchange);
    if (progress == COMMIT && !(admission_commit(request, &exchange->reply) &&
                                access_commit(request, &exchange->reply)))
        progress = DONE;
    kx_read_release(request->reader);
    return progress;
}

/* ---- On a read worker --------------------------------------------------- */

/* The outcome of a commit is known to this node, but what its reply shows
 * besides is not. */
static enum problem_code late_code(const struct exchange *exchange)
{
    enum kx_status status = exchange->request.commit.status;
    bool told =
        !exchange->finishing || (status != KX_OK && status != KX_UNKNOWN);
    return told ? PROBLEM_DATABASE_UNREACHABLE : PROBLEM_COMMIT_UNKNOWN;
}

static void answer_late(struct exchange *exchange)
{
    problem(&exchange->request, &exchange->reply, late_code(exchange),
            "The database did not answer in time.");
}

void exchange_read(struct exchange *exchange, bool view)
{
    struct request *request = &exchange->request;
    bool chunk = exchange->phase == EXCHANGE_CHUNK_AWAITS_READER;
    if (chunk && view) {
        exchange_stream_slice(exchange);
    } else if (chunk) {
        exchange->reply.body.failed = true;
    } else if (view || node_is_local(request->route)) {
        request->viewless = !view;
        exchange->half = exchange_half(exchange);
    } else {
        answer_late(exchange);
        exchange->half = DONE;
    }
}
