/* The speed limit of a background job on an index: paused, a number of entries
 * per second, or no limit. It is stored with the index, so it survives a
 * restart. Changed by the writer thread while it applies a batch, read inside a
 * view. */
#ifndef THROTTLE_H
#define THROTTLE_H

#include "kindex.h"

/* All zero: no limit. */
struct throttle {
    bool paused;
    uint32_t per_second; /* entries, 0: no limit */
    int64_t next_ms; /* when the next entries may be worked on; writer thread
                        only */
};

/* Is there no limit at all? */
bool throttle_free(const struct throttle *throttle);

/* The number of entries that the job may work on now: 0 while it is paused or
 * has used its share, SIZE_MAX without a limit. */
size_t throttle_allowance(const struct throttle *throttle, int64_t now_ms);

/* Counts entries that the job has worked on. */
void throttle_spend(struct throttle *throttle, size_t entries, int64_t now_ms);

/* Takes a share of at most `most` entries: spends it and returns its size. */
size_t throttle_take(struct throttle *throttle, size_t most, int64_t now_ms);

/* When the allowance is no longer 0; INT64_MAX while the job is paused. */
int64_t throttle_due_ms(const struct throttle *throttle, int64_t now_ms);

/* Are both the same limit? */
bool throttle_equal(const struct throttle *a, const struct throttle *b);

#endif
