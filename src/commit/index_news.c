/* One list of tickets, and a number that grows each time they are answered. A
 * waiting caller passes the number that it saw before it read the state, so
 * that a change during the reading is not missed. */
#include "commit/index_news.h"

enum { INTERVAL_NS = 50000000 };

uint64_t kx_news(struct kx_store *store)
{
    return atomic_load(&store->news);
}

enum kx_status kx_news_wait(struct kx_store *store, uint64_t seen,
                            struct kx_ticket *ticket)
{
    pthread_mutex_lock(&store->lock);
    bool waits = atomic_load(&store->news) == seen;
    if (waits) {
        ticket->next = store->curious;
        store->curious = ticket;
    }
    pthread_mutex_unlock(&store->lock);
    return waits ? KX_OK : KX_END;
}

bool kx_news_cancel(struct kx_store *store, struct kx_ticket *ticket)
{
    bool found = false;
    pthread_mutex_lock(&store->lock);
    struct kx_ticket **place = &store->curious;
    while (*place != NULL && *place != ticket)
        place = &(*place)->next;
    found = *place != NULL;
    if (found)
        *place = ticket->next;
    pthread_mutex_unlock(&store->lock);
    return found;
}

void index_news_note(struct kx_store *store)
{
    store->news_due = true;
}

void index_news_tell(struct kx_store *store, bool idle)
{
    uint64_t now_ns = kx_monotonic_ns();
    if (!store->news_due ||
        (!idle && now_ns - store->news_told_ns < INTERVAL_NS))
        return;
    store->news_due = false;
    store->news_told_ns = now_ns;
    pthread_mutex_lock(&store->lock);
    atomic_fetch_add(&store->news, 1);
    struct kx_ticket *list = store->curious;
    store->curious = NULL;
    pthread_mutex_unlock(&store->lock);
    if (list != NULL)
        store->options.answer(store->options.answer_context, list);
}
