/* Parking an exchange. It then belongs to whatever will continue it: the writer
 * (commits and flushes, by its ticket), whoever has news, or the desk's queues
 * of turns. For exchange*.c only; all functions belong to the thread of the
 * exchange's event loop. */
#ifndef API_EXCHANGE_PARK_H
#define API_EXCHANGE_PARK_H

#include "exchange/exchange.h"

/* Each parks the exchange in the phase given, in which exchange_continue finds
 * it.
 *
 * Until a flush is done, for a reply must not show what a crash could still
 * take back; false, and not parked, when there is no need. */
bool exchange_await_flush(struct exchange *exchange, uint64_t flush,
                          enum exchange_phase phase);
/* Lets the views of what is called next begin without waiting, until
 * kx_read_release; false, and parked, while a batch is being applied. */
bool exchange_hold_view(struct exchange *exchange, enum exchange_phase phase);
/* Is it parked for that? */
bool exchange_awaits_view(const struct exchange *exchange);
/* Until its turn comes. */
void exchange_await_turn(struct exchange *exchange, enum exchange_phase phase);
/* Until what request.wait says; its ticket is with the core already. */
void exchange_await_news(struct exchange *exchange, enum exchange_phase phase);
/* EXCHANGE_CHUNK_AWAITS_TURN, a turn that comes in a moment: others may have
 * given back what the next chunk takes by then. */
void exchange_await_memory(struct exchange *exchange);

/* Is it parked for news? */
bool exchange_awaits_news(const struct exchange *exchange);

/* Adds the wait that is over to the times of the request, by the phase. */
void exchange_note_wait(struct exchange *exchange);

#endif
