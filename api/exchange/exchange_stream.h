/* A reply that is a stream. Its chunks are handed out by exchange_chunk, which
 * exchange.h declares. The thread of the exchange's event loop, except
 * exchange_stream_slice. */
#ifndef API_EXCHANGE_STREAM_H
#define API_EXCHANGE_STREAM_H

#include "exchange/exchange.h"

/* The wait of the next chunk has ended. EXCHANGE_PARK: the exchange waits
 * again. EXCHANGE_REPLY: the protocol side must ask for the chunk again. */
enum exchange_next exchange_stream_continue(struct exchange *exchange,
                                            enum exchange_awaits ended);

/* Makes the next chunk in the view that the request's reader holds, which ends
 * then; here or on a worker. */
void exchange_stream_slice(struct exchange *exchange);

/* Begins to send a reply that the handler has completed. A stream without
 * `next` is sent by the handler: the reply is then its first part. */
void exchange_stream_begin(struct exchange *exchange);
/* The handler has made one more part, or a problem, which becomes the last one.
 * EXCHANGE_REPLY: the protocol side must ask for the chunk again. */
enum exchange_next exchange_stream_part(struct exchange *exchange);

#endif
