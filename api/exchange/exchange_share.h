/* Limits on what all exchanges share: the number of requests (--requests-max)
 * and memory for bodies (--bodies-max). One client (struct client_usage) gets
 * at most half of either. When a limit is reached, the exchange that has
 * stalled for longest while it waits for its client is ended in favour of the
 * one that asks. All functions belong to the thread of the exchange's event
 * loop. */
#ifndef API_EXCHANGE_SHARE_H
#define API_EXCHANGE_SHARE_H

#include "exchange/exchange.h"

/* Counts the exchange, for this client if client is not NULL. */
void exchange_share_enter(struct exchange *exchange,
                          struct client_usage *client);
/* The token of the request is known: from here on the exchange counts for the
 * token and no longer for the address. */
void exchange_share_know(struct exchange *exchange);
/* Sets the bytes that its bodies take. */
void exchange_share_hold(struct exchange *exchange, uint64_t bytes);
/* Takes the exchange out of all counts; a second call does nothing. */
void exchange_share_leave(struct exchange *exchange);

/* Are service and client within their limits on requests? With `many` the
 * client may have only half of its limit. May end other exchanges that have
 * stalled. */
bool exchange_has_place(struct exchange *exchange, bool many);
/* Is there memory for it? The bodies of all exchanges, without `own` bytes of
 * them, must take at most --bodies-max, and the bodies of its client's other
 * exchanges at most half of that. May end other exchanges that have stalled. */
bool exchange_has_memory(struct exchange *exchange, uint64_t own);
/* The same, but ends no other exchange. */
bool exchange_fits_memory(const struct exchange *exchange, uint64_t own);

/* From now on the exchange waits for its client: for the remainder of its body,
 * or until the reply was taken. It may be ended while too few bytes move. */
void exchange_await_client(struct exchange *exchange);
/* The exchange no longer waits for its client. */
void exchange_leave_client(struct exchange *exchange);

/* Called once in each turn of a loop: ends stalled exchanges of this run queue
 * when exchanges of other loops lack what they hold. */
void exchange_share_look(struct run_queue *queue);
/* Milliseconds after which exchange_share_look must be called at the latest;
 * -1: never. */
int exchange_share_timeout_ms(const struct run_queue *queue);

/* ---- What one exchange takes -------------------------------------------- */

/* Updates the counts of memory with what the exchange's bodies take now. */
void exchange_count_memory(struct exchange *exchange);
/* Bytes of memory that the exchange takes in addition to its request's body:
 * for its reply, and for decoded values. */
size_t exchange_beside_body(const struct exchange *exchange);
/* Must the reply be refused for lack of memory? */
bool exchange_is_too_much(struct exchange *exchange);
/* Counts what was decoded from the body, and checks the memory limit without
 * it: false for a large body if the bodies exceed the limit even so. */
bool exchange_may_submit(struct exchange *exchange);
/* Drops the bodies and the memory of this exchange, whose handler has ended,
 * and makes its reply a problem, because the bodies of all clients, or the
 * bodies of this client, have reached their limit. */
void exchange_refuse_memory(struct exchange *exchange);
/* Empties a buffer for reuse. A large buffer is freed, because otherwise an
 * exchange would keep the memory of its largest request for ever. */
void exchange_empty(struct kx_buffer *buffer);
/* Gives back the unused memory of a buffer that has its final size, if it is
 * much. */
void exchange_fit(struct kx_buffer *buffer);

#endif
