/* How fast a background operation on an index may go: not at all while it is
 * paused, or so many entries per second, or as fast as the store has time for.
 * Stored with the index; what is said goes on after a restart. Changed by the
 * writer inside the gate's apply, read inside a view.
 */
#ifndef THROTTLE_H
#define THROTTLE_H

#include "kindex.h"

/* All zero: as fast as it goes. */
struct throttle {
    bool paused;
    uint32_t per_second; /* entries, 0: no limit */
    int64_t next_ms;     /* the writer's: when the next ones may be worked on */
};

/* Is there no limit at all? */
bool throttle_free(const struct throttle *throttle);

/* How many entries the operation may work on now: 0 while it is paused or has
 * had its share, SIZE_MAX without a limit. */
size_t throttle_allowance(const struct throttle *throttle, int64_t now_ms);

/* It has worked on so many. */
void throttle_spend(struct throttle *throttle, size_t entries, int64_t now_ms);

/* Takes a share of at most `most` entries: spends it and returns its size. */
size_t throttle_take(struct throttle *throttle, size_t most, int64_t now_ms);

/* When the allowance will not be 0 any more: INT64_MAX when it is paused. */
int64_t throttle_due_ms(const struct throttle *throttle, int64_t now_ms);

/* Do both say the same? */
bool throttle_equal(const struct throttle *a, const struct throttle *b);

#endif
