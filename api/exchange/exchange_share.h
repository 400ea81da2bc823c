/* Who may have how much of what all exchanges share: places for requests
 * (--requests-max) and memory for bodies (--bodies-max). A guest has at most
 * half of either. What is short goes to the next that asks for it: of the
 * exchanges that wait for their client the one that has stalled for longest is
 * ended. All functions belong to the thread of the exchange's event loop. */
#ifndef API_EXCHANGE_SHARE_H
#define API_EXCHANGE_SHARE_H

#include "exchange/exchange.h"

/* The exchange takes a place, as one of this guest's (NULL: nobody's). */
void exchange_share_enter(struct exchange *exchange, struct guest *guest);
/* Its token is known: from here on it is that one's. It holds nothing yet. */
void exchange_share_know(struct exchange *exchange);
/* Its bodies take so many bytes now. */
void exchange_share_hold(struct exchange *exchange, uint64_t bytes);
/* Gives back all it has; once more does nothing. */
void exchange_share_leave(struct exchange *exchange);

/* Has its guest a place for it, and the service? With `many` only half of the
 * guest's will do. Others may have to give way. */
bool exchange_has_place(struct exchange *exchange, bool many);
/* Is there memory for it: do the bodies of all exchanges, without `own` bytes
 * of them, take at most what --bodies-max allows, and those of its guest's
 * other exchanges at most half of that? Others may have to give way. */
bool exchange_has_memory(struct exchange *exchange, uint64_t own);
/* The same, but nobody gives way. */
bool exchange_fits_memory(const struct exchange *exchange, uint64_t own);

/* From now on the exchange waits for its client: for the rest of its body, or
 * until the reply was taken. Bytes that move show that the client is there. */
void exchange_await_client(struct exchange *exchange);
/* It does not any more. */
void exchange_leave_client(struct exchange *exchange);

/* Once in each turn of a loop: what is short because of exchanges of this desk,
 * while those that need it are of other loops, is given back. */
void exchange_share_look(struct run_queue *desk);
/* Milliseconds after which that must be called anyway; -1: never. */
int exchange_share_timeout_ms(const struct run_queue *desk);

#endif
