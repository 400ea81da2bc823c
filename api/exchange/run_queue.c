/* The lists of what waits at one event loop, and the hand-over of answers to
 * it. The lists are linked through their members, so that nothing here
 * allocates: an answer cannot be lost when memory runs out. */
#include "exchange/run_queue.h"

#include <errno.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <talloc.h>
#include <unistd.h>

#include "exchange/exchange.h"

/* Time for slices in each turn of the loop. By so much, many long lists and
 * streams may delay all other requests. */
static const uint64_t SLICES_NS = KX_MS_NS;

/* After this time an exchange that waits for memory tries again. */
static const uint64_t LATER_NS = 50 * KX_MS_NS;

static struct exchange *exchange_of(struct alarm *alarm)
{
    return (struct exchange *)((char *)alarm -
                               offsetof(struct exchange, alarm));
}

bool run_queue_open(struct run_queue *desk, struct service *service,
                    unsigned number)
{
    *desk = (struct run_queue){.service = service, .number = number};
    TAILQ_INIT(&desk->waiting);
    TAILQ_INIT(&desk->clients);
    desk->answers_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (desk->answers_fd < 0)
        return false;
    if (pthread_mutex_init(&desk->lock, NULL) == 0 &&
        kx_reader_open(service->store, &desk->reader) == KX_OK)
        return true;
    close(desk->answers_fd);
    return false;
}

void run_queue_close(struct run_queue *desk)
{
    while (desk->free != NULL) {
        struct exchange *exchange = desk->free;
        desk->free = exchange->next;
        talloc_free(exchange);
    }
    kx_reader_close(desk->reader);
    pthread_mutex_destroy(&desk->lock);
    close(desk->answers_fd);
}

/* Only the answer that finds the list empty writes to the eventfd: one write
 * wakes the loop for all answers that follow before it takes the list. */
void run_queue_put(struct run_queue *desk, struct kx_ticket *first)
{
    const uint64_t one = 1;
    pthread_mutex_lock(&desk->lock);
    bool asleep = desk->answered == NULL;
    while (first != NULL) {
        struct kx_ticket *next = first->next;
        first->next = desk->answered;
        desk->answered = first;
        first = next;
    }
    pthread_mutex_unlock(&desk->lock);
    while (asleep && write(desk->answers_fd, &one, sizeof one) < 0 &&
           errno == EINTR)
        ;
}

/* The eventfd is emptied before the list is taken. In the other order the
 * wake-up for an answer put in between would be lost. */
bool run_queue_take_answers(struct run_queue *desk)
{
    uint64_t count;
    while (read(desk->answers_fd, &count, sizeof count) < 0 && errno == EINTR)
        ;
    pthread_mutex_lock(&desk->lock);
    struct kx_ticket *ticket = desk->answered;
    desk->answered = NULL;
    pthread_mutex_unlock(&desk->lock);
    bool any = ticket != NULL;
    while (ticket != NULL) {
        struct kx_ticket *next = ticket->next;
        desk->awaited--;
        exchange_continue(ticket->owner);
        ticket = next;
    }
    return any;
}

static void append(struct turns *turns, struct exchange *exchange)
{
    exchange->next = NULL;
    if (turns->last == NULL)
        turns->first = exchange;
    else
        turns->last->next = exchange;
    turns->last = exchange;
}

static struct exchange *take(struct turns *turns)
{
    struct exchange *exchange = turns->first;
    if (exchange == NULL)
        return NULL;
    turns->first = exchange->next;
    if (turns->first == NULL)
        turns->last = NULL;
    return exchange;
}

void run_queue_turn(struct run_queue *desk, struct exchange *exchange)
{
    append(&desk->turns, exchange);
}

void run_queue_later(struct run_queue *desk, struct exchange *exchange)
{
    if (desk->later.first == NULL)
        desk->later_ns = kx_monotonic_ns() + LATER_NS;
    append(&desk->later, exchange);
}

bool run_queue_may_slice(const struct run_queue *desk)
{
    return desk->turns.first == NULL && kx_monotonic_ns() < desk->slices_end_ns;
}

/* Moves the exchanges of `later` to `turns` when their time has come. */
static void queue_late(struct run_queue *desk, uint64_t now_ns)
{
    struct exchange *exchange;
    if (now_ns >= desk->later_ns)
        while ((exchange = take(&desk->later)) != NULL)
            append(&desk->turns, exchange);
}

/* Exchanges that are queued meanwhile wait for the next call, and so do those
 * for which the time is not sufficient. */
bool run_queue_run_turns(struct run_queue *desk)
{
    struct exchange *exchange = NULL;
    uint64_t now_ns = kx_monotonic_ns();
    desk->slices_end_ns = now_ns + SLICES_NS;
    queue_late(desk, now_ns);
    const struct exchange *last = desk->turns.last;
    if (last == NULL)
        return false;
    do {
        exchange = take(&desk->turns);
        exchange_continue(exchange);
    } while (exchange != last && kx_monotonic_ns() < desk->slices_end_ns);
    return true;
}

void run_queue_news(struct run_queue *desk, struct exchange *exchange)
{
    uint64_t until_ns = exchange->request.wait.until_ns;
    TAILQ_INSERT_TAIL(&desk->waiting, exchange, waiting);
    if (until_ns != 0)
        timer_heap_set(&desk->alarms, &exchange->alarm,
                       until_ns > desk->late_ns ? until_ns : desk->late_ns + 1);
}

void run_queue_end_news(struct run_queue *desk, struct exchange *exchange)
{
    TAILQ_REMOVE(&desk->waiting, exchange, waiting);
    timer_heap_clear(&desk->alarms, &exchange->alarm);
}

static bool wake_all(struct run_queue *desk)
{
    struct exchange *exchange = TAILQ_FIRST(&desk->waiting);
    struct exchange *last = TAILQ_LAST(&desk->waiting, exchanges);
    bool any = exchange != NULL;
    while (exchange != NULL) {
        struct exchange *next =
            exchange == last ? NULL : TAILQ_NEXT(exchange, waiting);
        exchange_wake(exchange);
        exchange = next;
    }
    return any;
}

/* A woken exchange may wait again at once; late_ns makes sure that it is not
 * woken again in this call. */
bool run_queue_run_late(struct run_queue *desk, bool stopping)
{
    struct alarm *alarm;
    bool any = false;
    if (stopping)
        return wake_all(desk);
    if (desk->alarms.first == NULL)
        return false;
    desk->late_ns = kx_monotonic_ns();
    while ((alarm = desk->alarms.first) != NULL &&
           alarm->at_ns <= desk->late_ns) {
        timer_heap_clear(&desk->alarms, alarm);
        exchange_wake(exchange_of(alarm));
        any = true;
    }
    return any;
}

/* The earliest time for which an exchange waits; UINT64_MAX: none does. */
static uint64_t next_ns(const struct run_queue *desk)
{
    const struct alarm *alarm = desk->alarms.first;
    uint64_t at_ns = alarm != NULL ? alarm->at_ns : UINT64_MAX;
    return desk->later.first != NULL && desk->later_ns < at_ns ? desk->later_ns
                                                               : at_ns;
}

int run_queue_timeout_ms(const struct run_queue *desk)
{
    uint64_t at_ns = next_ns(desk);
    if (at_ns == UINT64_MAX)
        return -1;
    uint64_t now_ns = kx_monotonic_ns();
    uint64_t left_ns = at_ns > now_ns ? at_ns - now_ns : 0;
    return left_ns > 3600000000000u ? 3600000 : (int)(left_ns / KX_MS_NS) + 1;
}

bool run_queue_has_turns(const struct run_queue *desk)
{
    return desk->turns.first != NULL || desk->later.first != NULL;
}

void run_queue_abandon_turns(struct run_queue *desk)
{
    struct exchange *exchange;
    queue_late(desk, UINT64_MAX);
    while ((exchange = take(&desk->turns)) != NULL)
        exchange_abandon(exchange);
}
