/* Measures the memory that an exchange takes for its bodies. The sum of all
 * exchanges has a limit (--bodies-max), so that neither many large requests nor
 * many clients that do not read can take all memory. */
#include "exchange/exchange.h"

#include <talloc.h>

#include "exchange/exchange_share.h"

enum {
    KEEP_MAX = 16 * 1024, /* bytes of a buffer that is kept for reuse: there may
                           * be some hundreds in each loop */
    LARGE = 64 * 1024,    /* bytes of a body above which the request's memory
                           * is measured */
    SLACK_MAX = 16 * 1024 /* bytes of a final body's buffer left unused */
};

void exchange_empty(struct kx_buffer *buffer)
{
    if (buffer->capacity > KEEP_MAX)
        kx_buffer_free(buffer);
    kx_buffer_clear(buffer);
}

void exchange_fit(struct kx_buffer *buffer)
{
    if (buffer->capacity - buffer->size > SLACK_MAX)
        kx_buffer_fit(buffer);
}

/* Values that are decoded from a body, or become one, lie in the request's
 * memory. Measuring that walks through all of it. The walk is cheap compared
 * with the work on a large body; if both bodies are small it is skipped. */
size_t exchange_beside_body(const struct exchange *exchange)
{
    const struct request *request = &exchange->request;
    const struct kx_buffer *reply = &exchange->reply.body;
    bool large = exchange->body.size > LARGE || reply->size > LARGE;
    return reply->capacity +
           (large ? talloc_total_size(request->memory) : request->kept);
}

void exchange_count_memory(struct exchange *exchange)
{
    exchange_share_hold(exchange, exchange->body.capacity +
                                      exchange_beside_body(exchange));
}

void exchange_refuse_memory(struct exchange *exchange)
{
    const struct options *options = exchange->queue->service->options;
    exchange_empty(&exchange->body);
    exchange_empty(&exchange->reply.body);
    if (exchange->request.kept > 0)
        TALLOC_FREE(exchange->request.state);
    exchange->request.kept = 0;
    problem(&exchange->request, &exchange->reply, PROBLEM_OVERLOADED,
            "The bodies of all requests and replies take more than %llu bytes "
            "(--bodies-max), or the bodies of this client take more than half "
            "of that.",
            (unsigned long long)options->bodies_max);
    exchange_count_memory(exchange);
}
