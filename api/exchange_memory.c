/* What the bodies of requests and replies take, of all exchanges together: a
 * limit that holds for the whole service (--bodies-max), so that neither many
 * large requests nor many clients that do not read can take all memory. */
#include "exchange.h"

#include "exchange_share.h"

enum { KEEP_MAX = 64 * 1024 /* bytes of a buffer that is kept for reuse */ };

void exchange_empty(struct kx_buffer *buffer)
{
    if (buffer->capacity > KEEP_MAX)
        kx_buffer_free(buffer);
    kx_buffer_clear(buffer);
}

void exchange_count_memory(struct exchange *exchange)
{
    uint64_t held = exchange->body.size + exchange->reply.body.size +
                    exchange->request.kept;
    exchange_share_hold(exchange, held);
}
