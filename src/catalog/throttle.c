/* Each piece of work is paid for afterwards: n entries at r per second, then
 * nothing for n / r seconds. A piece is a tenth of a second's share, so that
 * the pauses are short. The time is the clock that a test can set. */
#include "catalog/throttle.h"

enum { PIECES_PER_SECOND = 10, WAIT_MAX_MS = 1000 };

bool throttle_free(const struct throttle *pace)
{
    return !pace->paused && pace->per_second == 0;
}

/* No wait is longer than a second, for a piece is at least one entry and at
 * most a tenth of a second's: if it is, the clock was set back. */
int64_t throttle_due_ms(const struct throttle *pace, int64_t now_ms)
{
    if (pace->paused)
        return INT64_MAX;
    if (pace->per_second == 0 || pace->next_ms - now_ms > WAIT_MAX_MS)
        return now_ms;
    return pace->next_ms > now_ms ? pace->next_ms : now_ms;
}

size_t throttle_allowance(const struct throttle *pace, int64_t now_ms)
{
    if (throttle_due_ms(pace, now_ms) > now_ms)
        return 0;
    if (pace->per_second == 0)
        return SIZE_MAX;
    size_t piece = pace->per_second / PIECES_PER_SECOND;
    return piece == 0 ? 1 : piece;
}

void throttle_spend(struct throttle *pace, size_t entries, int64_t now_ms)
{
    if (pace->per_second == 0)
        return;
    pace->next_ms = now_ms + (int64_t)(entries * 1000 / pace->per_second);
}

size_t throttle_take(struct throttle *pace, size_t most, int64_t now_ms)
{
    size_t allowance = throttle_allowance(pace, now_ms);
    size_t share = allowance < most ? allowance : most;
    throttle_spend(pace, share, now_ms);
    return share;
}

bool throttle_equal(const struct throttle *a, const struct throttle *b)
{
    return a->paused == b->paused && a->per_second == b->per_second;
}
