/* The ring of slow requests. */
#include "http/slow_log.h"

void slow_log_keep(struct slow_log *slow, const struct account *account)
{
    pthread_mutex_lock(&slow->lock);
    slow->kept[slow->count++ % SLOW_LOG_KEPT_MAX] = *account;
    pthread_mutex_unlock(&slow->lock);
}

bool slow_log_last(struct slow_log *slow, size_t n, struct account *account_out)
{
    pthread_mutex_lock(&slow->lock);
    bool found = n < slow->count && n < SLOW_LOG_KEPT_MAX;
    if (found)
        *account_out = slow->kept[(slow->count - 1 - n) % SLOW_LOG_KEPT_MAX];
    pthread_mutex_unlock(&slow->lock);
    return found;
}
