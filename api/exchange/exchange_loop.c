/* Takes exchanges out of the run queue and continues them. */
#include "exchange/exchange_loop.h"

#include "exchange/exchange.h"
#include "exchange/exchange_wait.h"
#include "exchange/workers.h"

enum {
    SLOW_MIN = 4,     /* slow reads */
    READS_A_SLOW = 8, /* the disk counts as slow if at least one read in this
                       * many is slow */
    PERIOD_MS = 1000 /* length of the period in which reads are counted, and for
                      * which the result holds */
};
static const uint64_t PERIOD_NS = PERIOD_MS * KX_MS_NS;

/* A thread that has to wait for a processor makes slow reads, too, but few
 * among many. */
bool exchange_loop_note_reads(struct slow_disk *disk,
                              struct kx_disk_reads reads, uint64_t now_ns)
{
    uint64_t count = reads.count - disk->seen.count;
    uint64_t slow = reads.slow - disk->seen.slow;
    bool is_slow = slow >= SLOW_MIN && slow * READS_A_SLOW >= count;
    if (is_slow)
        disk->until_ns = now_ns + PERIOD_NS;
    if (is_slow || now_ns >= disk->seen_ns + PERIOD_NS) {
        disk->seen = reads;
        disk->seen_ns = now_ns;
    }
    return now_ns < disk->until_ns;
}

void exchange_loop_begin(struct run_queue *queue, uint64_t now_ns)
{
    const struct service *service = queue->service;
    run_queue_begin(queue, now_ns);
    if (service->role.shared || !workers_can_read(service->workers))
        return;
    struct kx_disk_reads reads = kx_disk_reads(service->store);
    struct kx_disk_reads beside = workers_disk_reads(service->workers);
    reads.count += beside.count;
    reads.slow += beside.slow;
    queue->workers_read = exchange_loop_note_reads(&queue->disk, reads, now_ns);
    kx_reader_use_memory_only(queue->reader, queue->workers_read);
}

/* Continues an exchange whose answer has arrived, now or in its turn. */
static void take_answer(struct run_queue *queue, struct exchange *exchange)
{
    queue->awaited--;
    if (run_queue_is_busy(queue, kx_monotonic_ns()))
        run_queue_turn(queue, exchange);
    else
        exchange_continue(exchange);
}

bool exchange_loop_answers(struct run_queue *queue)
{
    struct kx_ticket *ticket = run_queue_take_answers(queue);
    bool any = ticket != NULL;
    while (ticket != NULL) {
        struct kx_ticket *next = ticket->next;
        if (!exchange_note_early_news(ticket->owner, ticket))
            take_answer(queue, ticket->owner);
        ticket = next;
    }
    return any;
}

/* Exchanges that are queued meanwhile wait for the next call, and so do those
 * for which the time is not sufficient. */
bool exchange_loop_turns(struct run_queue *queue)
{
    uint64_t now_ns = kx_monotonic_ns();
    size_t left = run_queue_begin_slices(queue, now_ns);
    if (left == 0)
        return false;
    do {
        uint64_t began_ns = now_ns;
        exchange_continue(turns_take(&queue->turns));
        now_ns = kx_monotonic_ns();
        turns_charge(&queue->turns, now_ns - began_ns);
    } while (--left > 0 && now_ns < queue->slices_end_ns);
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
    while (!run_queue_is_busy(queue, kx_monotonic_ns()) &&
           (exchange = run_queue_take_alarm(queue)) != NULL) {
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
