/* What an event loop does with the exchanges in its run queue. All functions
 * belong to the loop's thread. */
#ifndef API_EXCHANGE_LOOP_H
#define API_EXCHANGE_LOOP_H

#include "exchange/run_queue.h"

/* Continues every exchange whose answer was put, which may call its `ready`.
 * False when there was none. */
bool exchange_loop_answers(struct run_queue *queue);
/* Called once in each turn of the loop: gives each exchange in the queue of
 * turns a slice until the time for slices is used up. The others come first in
 * the next call. False when none waited. */
bool exchange_loop_turns(struct run_queue *queue);
/* Continues the exchanges whose wait has expired, or all that wait for news if
 * the loop is `stopping`. False when there was none. */
bool exchange_loop_alarms(struct run_queue *queue, bool stopping);
/* Ends the exchanges that wait for their turn with a problem (503 stopping), or
 * breaks off their streams, because the loop stops. */
void exchange_loop_abandon(struct run_queue *queue);

#endif
