/* Takes exchanges out of the run queue and continues them. */
#include "exchange/exchange_loop.h"

#include "exchange/exchange.h"
#include "exchange/exchange_wait.h"

bool exchange_loop_answers(struct run_queue *queue)
{
    struct kx_ticket *ticket = run_queue_take_answers(queue);
    bool any = ticket != NULL;
    while (ticket != NULL) {
        struct kx_ticket *next = ticket->next;
        if (!exchange_note_early_news(ticket->owner, ticket)) {
            queue->awaited--;
            exchange_continue(ticket->owner);
        }
        ticket = next;
    }
    return any;
}

/* Exchanges that are queued meanwhile wait for the next call, and so do those
 * for which the time is not sufficient. */
bool exchange_loop_turns(struct run_queue *queue)
{
    const struct exchange *last = run_queue_begin_slices(queue);
    struct exchange *exchange;
    if (last == NULL)
        return false;
    do {
        exchange = run_queue_take_turn(queue);
        exchange_continue(exchange);
    } while (exchange != last && kx_monotonic_ns() < queue->slices_end_ns);
    return true;
}

static bool wake_all(struct run_queue *queue)
{
    struct exchange *exchange = TAILQ_FIRST(&queue->waiting);
    struct exchange *last = TAILQ_LAST(&queue->waiting, exchanges);
    bool any = exchange != NULL;
    while (exchange != NULL) {
        struct exchange *next =
            exchange == last ? NULL : TAILQ_NEXT(exchange, waiting);
        exchange_wake(exchange);
        exchange = next;
    }
    return any;
}

/* A woken exchange may wait again at once; handled_ns makes sure that it is not
 * woken again in this call. */
bool exchange_loop_alarms(struct run_queue *queue, bool stopping)
{
    struct exchange *exchange;
    bool any = false;
    if (stopping)
        return wake_all(queue);
    if (queue->alarms.first == NULL)
        return false;
    queue->handled_ns = kx_monotonic_ns();
    while ((exchange = run_queue_take_alarm(queue)) != NULL) {
        exchange_wake(exchange);
        any = true;
    }
    return any;
}

void exchange_loop_abandon(struct run_queue *queue)
{
    struct exchange *exchange;
    while ((exchange = run_queue_take_any(queue)) != NULL)
        exchange_abandon(exchange);
}
