/* What waits at one event loop, and the handing over of answers to it. The
 * lists are linked through their members, so that nothing here allocates: an
 * answer cannot get lost for want of memory. */
#include "desk.h"
#include "exchange.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <talloc.h>
#include <unistd.h>

bool desk_open(struct desk *desk, struct service *service, unsigned number)
{
    *desk = (struct desk){.service = service, .number = number};
    desk->answers_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (desk->answers_fd < 0)
        return false;
    if (pthread_mutex_init(&desk->lock, NULL) == 0 &&
        kx_reader_open(service->store, &desk->reader) == KX_OK)
        return true;
    close(desk->answers_fd);
    return false;
}

void desk_close(struct desk *desk)
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

/* One write wakes the loop, however many answers follow before it looks: the
 * list was empty only for the first of them. */
void desk_put(struct desk *desk, struct kx_ticket *first)
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

/* The eventfd is emptied before the list is taken. In the other order an answer
 * put down in between would be left there without a wake. */
bool desk_take_answers(struct desk *desk)
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

void desk_queue_turn(struct desk *desk, struct exchange *exchange)
{
    exchange->next = NULL;
    if (desk->turn_last == NULL)
        desk->turn_first = exchange;
    else
        desk->turn_last->next = exchange;
    desk->turn_last = exchange;
}

/* Takes the whole queue: what is queued meanwhile waits for the next round. */
static struct exchange *take_turns(struct desk *desk)
{
    struct exchange *first = desk->turn_first;
    desk->turn_first = NULL;
    desk->turn_last = NULL;
    return first;
}

bool desk_run_turns(struct desk *desk)
{
    struct exchange *exchange = take_turns(desk);
    bool any = exchange != NULL;
    while (exchange != NULL) {
        struct exchange *next = exchange->next;
        exchange_continue(exchange);
        exchange = next;
    }
    return any;
}

void desk_abandon_turns(struct desk *desk)
{
    struct exchange *exchange = take_turns(desk);
    while (exchange != NULL) {
        struct exchange *next = exchange->next;
        exchange_abandon(exchange);
        exchange = next;
    }
}
