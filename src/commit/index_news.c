/* One list of tickets, and a number that grows each time they are answered. A
 * waiting caller passes the number that it saw before it read the state, so
 * that a change during the reading is not missed. */
#include "commit/index_news.h"

#include "kindex/clock.h"

enum { INTERVAL_NS = 50000000 };

void index_news_init(struct index_news *news, kx_answer_fn *answer,
                     void *answer_context)
{
    *news =
        (struct index_news){.answer = answer, .answer_context = answer_context};
    pthread_mutex_init(&news->lock, NULL);
}

void index_news_finish(struct index_news *news)
{
    pthread_mutex_destroy(&news->lock);
}

uint64_t index_news_count(struct index_news *news)
{
    return atomic_load(&news->count);
}

enum kx_status index_news_wait(struct index_news *news, uint64_t seen,
                               struct kx_ticket *ticket)
{
    pthread_mutex_lock(&news->lock);
    bool waits = atomic_load(&news->count) == seen;
    if (waits) {
        ticket->next = news->waiting;
        news->waiting = ticket;
    }
    pthread_mutex_unlock(&news->lock);
    return waits ? KX_OK : KX_END;
}

bool index_news_cancel(struct index_news *news, struct kx_ticket *ticket)
{
    pthread_mutex_lock(&news->lock);
    struct kx_ticket **place = &news->waiting;
    while (*place != NULL && *place != ticket)
        place = &(*place)->next;
    bool found = *place != NULL;
    if (found)
        *place = ticket->next;
    pthread_mutex_unlock(&news->lock);
    return found;
}

void index_news_note(struct index_news *news)
{
    news->due = true;
}

void index_news_tell(struct index_news *news, bool idle)
{
    uint64_t now_ns = kx_monotonic_ns();
    if (!news->due || (!idle && now_ns - news->told_ns < INTERVAL_NS))
        return;
    news->due = false;
    news->told_ns = now_ns;
    pthread_mutex_lock(&news->lock);
    atomic_fetch_add(&news->count, 1);
    struct kx_ticket *list = news->waiting;
    news->waiting = NULL;
    pthread_mutex_unlock(&news->lock);
    if (list != NULL)
        news->answer(news->answer_context, list);
}
