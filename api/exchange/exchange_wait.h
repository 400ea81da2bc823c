/* Parks an exchange. Until it is continued it belongs to the core, which has
 * its ticket (commits, flushes, views, notifications), or to the run queue's
 * queues of turns. For exchange*.c only; all functions belong to the thread of
 * the exchange's event loop. */
#ifndef API_EXCHANGE_WAIT_H
#define API_EXCHANGE_WAIT_H

#include "exchange/exchange.h"

/* Each function parks the exchange; exchange->awaits then names the event that
 * it waits for.
 *
 * Waits until a flush is done, because a reply must not show what a crash could
 * still undo. False, and not parked, when no wait is needed. */
bool exchange_await_flush(struct exchange *exchange, uint64_t flush);
/* Makes the reply a problem if the flush that it needs has failed. */
void exchange_check_flush(struct exchange *exchange);
/* Waits for the result of request.commit, which the writer has. */
void exchange_await_commit(struct exchange *exchange);
/* True: views begin without waiting until kx_read_release. False, and parked,
 * while a batch is being applied. */
bool exchange_hold_view(struct exchange *exchange);
/* Tells the core that an exchange which has waited for a view has retried, or
 * will not retry. Does nothing if the exchange has not waited for a view. */
void exchange_view_hold_done(struct exchange *exchange);
/* Waits until a worker has done the work of the call. That takes time of
 * the handler and not of a wait (timing.h). */
void exchange_await_work(struct exchange *exchange);
/* Waits until a worker has run the section, or made the next chunk. That
 * takes time of the handler, too. False, and not parked: too many wait for a
 * database. */
bool exchange_await_read(struct exchange *exchange);
/* Waits until its turn comes: AWAITS_TURN, or AWAITS_START if its handler
 * begins in that turn. */
void exchange_await_turn(struct exchange *exchange, enum exchange_awaits what);
/* Waits for the event in request.wait; the core already has its ticket. */
void exchange_await_news(struct exchange *exchange);
/* Waits for a later turn; meanwhile other exchanges may free the memory that
 * the next chunk needs. */
void exchange_await_memory(struct exchange *exchange);

/* Notes a notification that arrives while a worker still has the exchange that
 * asked for it. True if the ticket is a notification of this kind. */
bool exchange_note_early_news(struct exchange *exchange,
                              const struct kx_ticket *ticket);

/* Adds the wait that has ended to the times of the request. */
void exchange_note_wait(struct exchange *exchange);

#endif
