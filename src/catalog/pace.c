/* Each piece of work is paid for afterwards: n entries at r per second, then
 * nothing for n / r seconds. A piece is a tenth of a second's share, so that
 * the pauses are short. The time is the clock that a test can set. */
#include "catalog/pace.h"

enum { PIECES_PER_SECOND = 10, WAIT_MAX_MS = 1000 };

bool pace_free(const struct pace *pace)
{
    return !pace->paused && pace->per_second == 0;
}

/* No wait is longer than a second, for a piece is at least one entry and at
 * most a tenth of a second's: if it is, the clock was set back. */
int64_t pace_due_ms(const struct pace *pace, int64_t now_ms)
{
    if (pace->paused)
        return INT64_MAX;
    if (pace->per_second == 0 || pace->next_ms - now_ms > WAIT_MAX_MS)
        return now_ms;
    return pace->next_ms > now_ms ? pace->next_ms : now_ms;
}

size_t pace_allowance(const struct pace *pace, int64_t now_ms)
{
    if (pace_due_ms(pace, now_ms) > now_ms)
        return 0;
    if (pace->per_second == 0)
        return SIZE_MAX;
    size_t piece = pace->per_second / PIECES_PER_SECOND;
    return piece == 0 ? 1 : piece;
}

void pace_spend(struct pace *pace, size_t entries, int64_t now_ms)
{
    if (pace->per_second == 0)
        return;
    pace->next_ms = now_ms + (int64_t)(entries * 1000 / pace->per_second);
}

size_t pace_take(struct pace *pace, size_t most, int64_t now_ms)
{
    size_t allowance = pace_allowance(pace, now_ms);
    size_t share = allowance < most ? allowance : most;
    pace_spend(pace, share, now_ms);
    return share;
}

bool pace_equal(const struct pace *a, const struct pace *b)
{
    return a->paused == b->paused && a->per_second == b->per_second;
}
