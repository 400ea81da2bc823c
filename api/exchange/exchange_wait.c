/* A waiting exchange is in a list of the run queue, or the core holds its
 * ticket, or both. Its phase says what it waits for. */
#include "exchange/exchange_wait.h"

#include "access/access.h"
#include "exchange/body_worker.h"
#include "exchange/read_workers.h"

bool exchange_await_flush(struct exchange *exchange, uint64_t flush,
                          enum exchange_phase phase)
{
    exchange->ticket.owner = exchange;
    if (flush == 0 || kx_wait(exchange->queue->service->store, flush,
                              &exchange->ticket) != KX_OK)
        return false;
    exchange->phase = phase;
    exchange->queue->awaited++;
    timing_park(&exchange->timing);
    return true;
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

bool exchange_hold_view(struct exchange *exchange, enum exchange_phase phase)
{
    exchange->ticket.owner = exchange;
    if (kx_read_hold(exchange->request.reader, &exchange->ticket))
        return true;
    exchange->phase = phase;
    exchange->queue->awaited++;
    timing_park(&exchange->timing);
    return false;
}

bool exchange_awaits_view(const struct exchange *exchange)
{
    return exchange->phase == EXCHANGE_AWAITS_VIEW ||
           exchange->phase == EXCHANGE_CHUNK_AWAITS_VIEW;
}

void exchange_await_reading(struct exchange *exchange)
{
    exchange->phase = EXCHANGE_AWAITS_READING;
    exchange->queue->awaited++;
    body_worker_put(exchange->queue->worker, exchange);
}

bool exchange_await_reader(struct exchange *exchange, enum exchange_phase phase)
{
    exchange->phase = phase;
    exchange->news_came = false;
    exchange->request.wait.cancel = NULL;
    if (!read_workers_put(exchange->queue->service->read_workers, exchange))
        return false;
    exchange->queue->awaited++;
    return true;
}

bool exchange_awaits_reader(const struct exchange *exchange)
{
    return exchange->phase == EXCHANGE_AWAITS_READER ||
           exchange->phase == EXCHANGE_CHUNK_AWAITS_READER;
}

void exchange_await_turn(struct exchange *exchange, enum exchange_phase phase)
{
    exchange->phase = phase;
    timing_park(&exchange->timing);
    run_queue_turn(exchange->queue, exchange);
}

/* Only the chunks of streams wait for memory (exchange_stream.c). */
void exchange_await_memory(struct exchange *exchange)
{
    exchange->phase = EXCHANGE_CHUNK_AWAITS_TURN;
    timing_park(&exchange->timing);
    run_queue_later(exchange->queue, exchange);
}

/* The wait ends at the latest when the token expires. News that have come
 * already are seen in another turn. */
void exchange_await_news(struct exchange *exchange, enum exchange_phase phase)
{
    struct wait *wait = &exchange->request.wait;
    if (exchange->news_came) {
        exchange->news_came = false;
        exchange_await_turn(exchange, phase == EXCHANGE_AWAITS_NEWS
                                          ? EXCHANGE_AWAITS_TURN
                                          : EXCHANGE_CHUNK_AWAITS_TURN);
        return;
    }
    uint64_t until_ns = access_until_ns(&exchange->request);
    if (until_ns != 0 && (wait->until_ns == 0 || until_ns < wait->until_ns))
        wait->until_ns = until_ns;
    exchange->phase = phase;
    exchange->queue->awaited++;
    timing_park(&exchange->timing);
    run_queue_news(exchange->queue, exchange);
}

bool exchange_awaits_news(const struct exchange *exchange)
{
    return exchange->phase == EXCHANGE_AWAITS_NEWS ||
           exchange->phase == EXCHANGE_CHUNK_AWAITS_NEWS;
}

bool exchange_note_early_news(struct exchange *exchange,
                              const struct kx_ticket *ticket)
{
    if (ticket != &exchange->request.wait.ticket ||
        !exchange_awaits_reader(exchange))
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
    if (exchange->phase == EXCHANGE_AWAITS_FLUSH)
        timing_resume(timing, PHASE_FLUSH);
    else if (exchange->phase == EXCHANGE_AWAITS_TURN ||
             exchange->phase == EXCHANGE_AWAITS_VIEW)
        timing_resume(timing, PHASE_TURNS);
    else if (exchange->phase == EXCHANGE_AWAITS_NEWS &&
             !exchange->request.caller.elsewhere)
        timing_resume(timing, PHASE_COUNT);
}
