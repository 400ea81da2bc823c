/* After a piece of n entries at a limit of r per second, the allowance is 0 for
 * n / r seconds. A piece is the share of a tenth of a second, which keeps
 * pauses short. Times come from the clock that tests can set. */
#include "catalog/throttle.h"

enum { PIECES_PER_SECOND = 10, WAIT_MAX_MS = 1000 };

bool throttle_free(const struct throttle *throttle)
{
    return !throttle->paused && throttle->per_second == 0;
}

/* A piece is one entry, or the share of a tenth of a second, so no wait is
 * longer than a second unless the clock was set back. */
int64_t throttle_due_ms(const struct throttle *throttle, int64_t now_ms)
{
    if (throttle->paused)
        return INT64_MAX;
    if (throttle->per_second == 0 || throttle->next_ms - now_ms > WAIT_MAX_MS)
        return now_ms;
    return throttle->next_ms > now_ms ? throttle->next_ms : now_ms;
}

size_t throttle_allowance(const struct throttle *throttle, int64_t now_ms)
{
    if (throttle_due_ms(throttle, now_ms) > now_ms)
        return 0;
    if (throttle->per_second == 0)
        return SIZE_MAX;
    size_t piece = throttle->per_second / PIECES_PER_SECOND;
    return piece == 0 ? 1 : piece;
}

void throttle_spend(struct throttle *throttle, size_t entries, int64_t now_ms)
{
    if (throttle->per_second == 0)
        return;
    throttle->next_ms =
        now_ms + (int64_t)(entries * 1000 / throttle->per_second);
}

size_t throttle_take(struct throttle *throttle, size_t most, int64_t now_ms)
{
    size_t allowance = throttle_allowance(throttle, now_ms);
    size_t share = allowance < most ? allowance : most;
    throttle_spend(throttle, share, now_ms);
    return share;
}

bool throttle_equal(const struct throttle *a, const struct throttle *b)
{
    return a->paused == b->paused && a->per_second == b->per_second;
}
