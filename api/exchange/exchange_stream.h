/* A reply that is a stream. Its chunks are handed out by exchange_chunk, which
 * exchange.h declares. The thread of the exchange's event loop, except
 * exchange_stream_slice. */
#ifndef API_EXCHANGE_STREAM_H
#define API_EXCHANGE_STREAM_H

#include "exchange/exchange.h"

/* The turn or the view for which the next chunk waited has come. EXCHANGE_PARK:
 * the exchange waits again. EXCHANGE_REPLY: the protocol side must ask for the
 * chunk again. */
enum exchange_next exchange_stream_turn(struct exchange *exchange);

/* Makes the next chunk in the view that the request's reader holds, which ends
 * then; here or on a read worker. */
void exchange_stream_slice(struct exchange *exchange);
/* A read worker has made the next chunk. As exchange_stream_turn. */
enum exchange_next exchange_stream_made(struct exchange *exchange);

/* The reply is complete: if it is a stream without `next` it is the first part.
 */
void exchange_stream_begin(struct exchange *exchange);
/* The halves have made one more part, or a problem, which becomes the last one.
 * EXCHANGE_REPLY: the protocol side must ask for the chunk again. */
enum exchange_next exchange_stream_part(struct exchange *exchange);

#endif
