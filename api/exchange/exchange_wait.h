/* Parks an exchange. Until it is continued it belongs to the core, which has
 * its ticket (commits, flushes, views, news), or to the run queue's queues of
 * turns. For exchange*.c only; all functions belong to the thread of the
 * exchange's event loop. */
#ifndef API_EXCHANGE_WAIT_H
#define API_EXCHANGE_WAIT_H

#include "exchange/exchange.h"

/* Each function parks the exchange in the given phase, by which
 * exchange_continue knows what to do.
 *
 * Waits until a flush is done, because a reply must not show what a crash could
 * still undo. False, and not parked, when no wait is needed. */
bool exchange_await_flush(struct exchange *exchange, uint64_t flush,
                          enum exchange_phase phase);
/* Makes the reply a problem if the flush that it needs has failed. */
void exchange_check_flush(struct exchange *exchange);
/* True: views begin without waiting until kx_read_release. False, and parked,
 * while a batch is being applied. */
bool exchange_hold_view(struct exchange *exchange, enum exchange_phase phase);
/* Is it parked by exchange_hold_view? */
bool exchange_awaits_view(const struct exchange *exchange);
/* Waits until the body worker has run the handler. That takes time of the
 * handler and not of a wait (timing.h). */
void exchange_await_reading(struct exchange *exchange);
/* Waits until a read worker has run the next half, or made the next chunk. That
 * takes time of the handler, too. False, and not parked: too many wait for a
 * database. */
bool exchange_await_reader(struct exchange *exchange,
                           enum exchange_phase phase);
/* Is it parked by exchange_await_reader? */
bool exchange_awaits_reader(const struct exchange *exchange);
/* Waits until its turn comes. */
void exchange_await_turn(struct exchange *exchange, enum exchange_phase phase);
/* Waits for what request.wait says; the core already has its ticket. */
void exchange_await_news(struct exchange *exchange, enum exchange_phase phase);
/* Waits in EXCHANGE_CHUNK_AWAITS_TURN for a later turn, by which other
 * exchanges may have given back the memory that the next chunk needs. */
void exchange_await_memory(struct exchange *exchange);

/* Is it parked for news? */
bool exchange_awaits_news(const struct exchange *exchange);
/* News that come while a read worker still has the exchange, which has just
 * asked for them. True: the ticket is of such news, and they are noted. */
bool exchange_note_early_news(struct exchange *exchange,
                              const struct kx_ticket *ticket);

/* Adds the wait that has ended to the times of the request, by the phase. */
void exchange_note_wait(struct exchange *exchange);

#endif
