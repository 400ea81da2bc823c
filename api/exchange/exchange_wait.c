/* A waiting exchange is in a list of the run queue, or the core holds its
 * ticket, or both. */
#include "exchange/exchange_wait.h"

#include "access/access.h"
#include "exchange/charge.h"
#include "exchange/workers.h"

/* The core, or a worker, will answer a ticket. */
static void park(struct exchange *exchange, enum exchange_awaits what)
{
    exchange->awaits = what;
    exchange->queue->awaited++;
    timing_park(&exchange->timing);
}

bool exchange_await_flush(struct exchange *exchange, uint64_t flush)
{
    exchange->ticket.owner = exchange;
    if (flush == 0 || kx_wait(exchange->queue->service->store, flush,
                              &exchange->ticket) != KX_OK)
        return false;
    park(exchange, AWAITS_FLUSH);
    return true;
}

void exchange_await_commit(struct exchange *exchange)
{
    exchange->awaits = AWAITS_COMMIT;
    exchange->queue->awaited++;
}

/* Apart, so that no request that needs no flush makes a fault. */
static __attribute__((noinline)) void fail_flush(struct exchange *exchange)
{
    struct kx_fault fault = {.status = KX_FAILED,
                             .detail = "a flush of the disk failed"};
    problem_status(&exchange->request, &exchange->reply, &fault);
}

void exchange_check_flush(struct exchange *exchange)
{
    if (exchange->reply.flush != 0 &&
        kx_store_failed(exchange->queue->service->store))
        fail_flush(exchange);
}

/* An earlier wait was for this try. */
bool exchange_hold_view(struct exchange *exchange)
{
    exchange->ticket.owner = exchange;
    bool held = kx_read_hold(exchange->request.reader, &exchange->ticket);
    exchange_view_hold_done(exchange);
    if (held)
        return true;
    charge_memory(exchange);
    park(exchange, AWAITS_VIEW);
    return false;
}

void exchange_view_hold_done(struct exchange *exchange)
{
    if (exchange->owes_hold_done)
        kx_read_hold_done(exchange->queue->service->store);
    exchange->owes_hold_done = false;
}

void exchange_await_work(struct exchange *exchange)
{
    charge_memory(exchange);
    exchange->awaits = AWAITS_WORKER;
    exchange->queue->awaited++;
    workers_put_work(exchange->queue->service->workers, exchange);
}

bool exchange_await_read(struct exchange *exchange)
{
    charge_memory(exchange);
    exchange->news_came = false;
    exchange->request.wait.cancel = NULL;
    exchange->awaits = AWAITS_WORKER;
    if (!workers_put_read(exchange->queue->service->workers, exchange)) {
        exchange->awaits = AWAITS_NOTHING;
        return false;
    }
    exchange->queue->awaited++;
    return true;
}

void exchange_await_turn(struct exchange *exchange, enum exchange_awaits what)
{
    exchange->awaits = what;
    timing_park(&exchange->timing);
    run_queue_turn(exchange->queue, exchange);
}

/* Only the chunks of streams wait for memory (exchange_stream.c). */
void exchange_await_memory(struct exchange *exchange)
{
    exchange->awaits = AWAITS_TURN;
    timing_park(&exchange->timing);
    run_queue_later(exchange->queue, exchange);
}

/* The wait ends at the latest when the token expires. A notification that has
 * already arrived is handled in another turn. */
void exchange_await_news(struct exchange *exchange)
{
    struct wait *wait = &exchange->request.wait;
    charge_memory(exchange);
    if (exchange->news_came) {
        exchange->news_came = false;
        exchange_await_turn(exchange, AWAITS_TURN);
        return;
    }
    uint64_t until_ns = access_until_ns(&exchange->request);
    if (until_ns != 0 && (wait->until_ns == 0 || until_ns < wait->until_ns))
        wait->until_ns = until_ns;
    park(exchange, AWAITS_NEWS);
    run_queue_news(exchange->queue, exchange);
}

bool exchange_note_early_news(struct exchange *exchange,
                              const struct kx_ticket *ticket)
{
    if (ticket != &exchange->request.wait.ticket ||
        exchange->awaits != AWAITS_WORKER)
        return false;
    exchange->news_came = true;
    return true;
}

/* The waits of a stream's chunks are not part of the request's times. The wait
 * for the active node is, as the handler's. timing.c adds the wait for a commit
 * from the commit's own times. */
void exchange_note_wait(struct exchange *exchange)
{
    struct timing *timing = &exchange->timing;
    if (exchange->phase != EXCHANGE_RUNNING)
        return;
    if (exchange->awaits == AWAITS_FLUSH)
        timing_resume(timing, PHASE_FLUSH);
    else if (exchange->awaits == AWAITS_START ||
             exchange->awaits == AWAITS_TURN || exchange->awaits == AWAITS_VIEW)
        timing_resume(timing, PHASE_TURNS);
    else if (exchange->awaits == AWAITS_NEWS &&
             !exchange->request.caller.forwarded)
        timing_resume(timing, PHASE_COUNT);
}
