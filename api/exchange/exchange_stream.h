/* A reply that is a stream; exchange_chunk (exchange.h) gives the door its
 * chunks. */
#ifndef API_EXCHANGE_STREAM_H
#define API_EXCHANGE_STREAM_H

#include "exchange/exchange.h"

/* The turn that an EXCHANGE_CHUNK_AWAITS_TURN waited for has come.
 * EXCHANGE_PARK: it waits again. EXCHANGE_REPLY: the door is to ask for a chunk
 * once more. */
enum exchange_next exchange_stream_turn(struct exchange *exchange);

#endif
