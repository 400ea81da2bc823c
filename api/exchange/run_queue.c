/* The lists of what waits at one event loop, and the hand-over of answers to
 * it. The lists are linked through their members, so that nothing here
 * allocates: an answer cannot be lost when memory runs out. */
#include "exchange/run_queue.h"

#include <errno.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <talloc.h>
#include <unistd.h>

#include "exchange/charge.h"
#include "exchange/exchange.h"
#include "exchange/fiber.h"

/* Time for slices in each turn of the loop: the longest delay that many long
 * lists and streams can cause to other requests. */
static const uint64_t SLICES_NS = KX_MS_NS;

/* Time after which a turn of the loop continues no handler, and time of
 * handlers after which it begins none: the remaining exchanges wait for other
 * turns, in which clients are served in rotation. Some hundreds of usual
 * requests take that long. */
static const uint64_t BUSY_NS = 2 * KX_MS_NS;

/* After this time an exchange that waits for memory tries again. */
static const uint64_t LATER_NS = 50 * KX_MS_NS;

static struct exchange *exchange_of(struct alarm *alarm)
{
    return (struct exchange *)((char *)alarm -
                               offsetof(struct exchange, alarm));
}

static bool open_reader(struct run_queue *queue)
{
    if (kx_reader_open(queue->service->store, &queue->reader) != KX_OK)
        return false;
    kx_reader_use_memory_only(queue->reader, queue->workers_read);
    return true;
}

bool run_queue_open(struct run_queue *queue, struct service *service,
                    unsigned number)
{
    *queue = (struct run_queue){.service = service,
                                .number = number,
                                .workers_read = service->role.shared,
                                .busy_until_ns = UINT64_MAX,
                                .begin_left_ns = UINT64_MAX};
    turns_init(&queue->turns);
    TAILQ_INIT(&queue->waiting);
    TAILQ_INIT(&queue->awaiting);
    queue->answers_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (queue->answers_fd < 0)
        return false;
    queue->fibers = fiber_pool_open();
    if (queue->fibers != NULL && pthread_mutex_init(&queue->lock, NULL) == 0 &&
        (service->store == NULL || open_reader(queue)))
        return true;
    fiber_pool_close(queue->fibers);
    close(queue->answers_fd);
    return false;
}

bool run_queue_attach(struct run_queue *queue)
{
    return atomic_load(&queue->service->opened) && open_reader(queue);
}

void run_queue_close(struct run_queue *queue)
{
    while (queue->free != NULL) {
        struct exchange *exchange = queue->free;
        queue->free = exchange->next;
        talloc_free(exchange);
    }
    fiber_pool_close(queue->fibers);
    kx_reader_close(queue->reader);
    pthread_mutex_destroy(&queue->lock);
    close(queue->answers_fd);
}

/* Only the answer that finds the list empty writes to the eventfd: one write
 * wakes the loop for all answers that follow before it takes the list. */
void run_queue_put(struct run_queue *queue, struct kx_ticket *first)
{
    const uint64_t one = 1;
    pthread_mutex_lock(&queue->lock);
    bool asleep = queue->answered == NULL;
    while (first != NULL) {
        struct kx_ticket *next = first->next;
        first->next = queue->answered;
        queue->answered = first;
        first = next;
    }
    pthread_mutex_unlock(&queue->lock);
    while (asleep && write(queue->answers_fd, &one, sizeof one) < 0 &&
           errno == EINTR)
        ;
}

/* The eventfd is emptied before the list is taken. In the other order the
 * wake-up for an answer put in between would be lost. */
struct kx_ticket *run_queue_take_answers(struct run_queue *queue)
{
    uint64_t count;
    while (read(queue->answers_fd, &count, sizeof count) < 0 && errno == EINTR)
        ;
    pthread_mutex_lock(&queue->lock);
    struct kx_ticket *first = queue->answered;
    queue->answered = NULL;
    pthread_mutex_unlock(&queue->lock);
    return first;
}

static struct client_turns *turns_of(struct run_queue *queue,
                                     const struct exchange *exchange)
{
    struct tenant *client = exchange->client;
    return client != NULL ? &client->turns[queue->number] : &queue->others;
}

void run_queue_turn(struct run_queue *queue, struct exchange *exchange)
{
    turns_add(&queue->turns, turns_of(queue, exchange), exchange,
              exchange->awaits == AWAITS_START);
}

bool run_queue_may_begin(struct run_queue *queue,
                         const struct exchange *exchange)
{
    return queue->begin_left_ns > 0 && !turns_owes(turns_of(queue, exchange));
}

void run_queue_begin(struct run_queue *queue, uint64_t now_ns)
{
    queue->now_ns = now_ns;
    queue->busy_until_ns = now_ns + BUSY_NS;
    queue->begin_left_ns = BUSY_NS;
}

bool run_queue_is_busy(const struct run_queue *queue, uint64_t now_ns)
{
    return now_ns >= queue->busy_until_ns;
}

void run_queue_later(struct run_queue *queue, struct exchange *exchange)
{
    if (queue->later.first == NULL)
        queue->later_ns = kx_monotonic_ns() + LATER_NS;
    exchange_list_append(&queue->later, exchange);
}

bool run_queue_may_slice(const struct run_queue *queue)
{
    return queue->turns.count == 0 && kx_monotonic_ns() < queue->slices_end_ns;
}

/* Moves the exchanges of `later` to `turns` when they are due. */
static void move_later(struct run_queue *queue, uint64_t now_ns)
{
    struct exchange *exchange;
    if (now_ns >= queue->later_ns)
        while ((exchange = exchange_list_take(&queue->later)) != NULL)
            run_queue_turn(queue, exchange);
}

size_t run_queue_begin_slices(struct run_queue *queue, uint64_t now_ns)
{
    queue->slices_end_ns = now_ns + SLICES_NS;
    move_later(queue, now_ns);
    return queue->turns.count;
}

struct exchange *run_queue_take_any(struct run_queue *queue)
{
    move_later(queue, UINT64_MAX);
    return turns_take(&queue->turns);
}

void run_queue_news(struct run_queue *queue, struct exchange *exchange)
{
    uint64_t until_ns = exchange->request.wait.until_ns;
    TAILQ_INSERT_TAIL(&queue->waiting, exchange, waiting);
    if (until_ns != 0)
        timer_heap_set(&queue->alarms, &exchange->alarm,
                       until_ns > queue->handled_ns ? until_ns
                                                    : queue->handled_ns + 1);
}

void run_queue_end_news(struct run_queue *queue, struct exchange *exchange)
{
    TAILQ_REMOVE(&queue->waiting, exchange, waiting);
    timer_heap_clear(&queue->alarms, &exchange->alarm);
}

struct exchange *run_queue_take_alarm(struct run_queue *queue)
{
    struct alarm *alarm = queue->alarms.first;
    if (alarm == NULL || alarm->at_ns > queue->handled_ns)
        return NULL;
    timer_heap_clear(&queue->alarms, alarm);
    return exchange_of(alarm);
}

/* The earliest time for which an exchange waits; UINT64_MAX if no exchange
 * waits for a time. */
static uint64_t next_ns(const struct run_queue *queue)
{
    const struct alarm *alarm = queue->alarms.first;
    uint64_t at_ns = alarm != NULL ? alarm->at_ns : UINT64_MAX;
    return queue->later.first != NULL && queue->later_ns < at_ns
               ? queue->later_ns
               : at_ns;
}

int run_queue_timeout_ms(const struct run_queue *queue)
{
    uint64_t at_ns = next_ns(queue);
    if (at_ns == UINT64_MAX)
        return -1;
    uint64_t now_ns = kx_monotonic_ns();
    uint64_t left_ns = at_ns > now_ns ? at_ns - now_ns : 0;
    return left_ns > 3600000000000u ? 3600000 : (int)(left_ns / KX_MS_NS) + 1;
}

bool run_queue_has_turns(const struct run_queue *queue)
{
    return queue->turns.count > 0 || queue->later.first != NULL;
}
