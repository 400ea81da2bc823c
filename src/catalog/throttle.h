/* The speed limit of a background job on an index: paused, a number of entries
 * per second, or no limit. It is stored with the index and survives a restart.
 * The writer thread changes it while it applies a batch; any thread reads it
 * inside a view. */
#ifndef THROTTLE_H
#define THROTTLE_H

#include "kindex.h"

/* All zero: no limit. */
struct throttle {
    bool paused;
    uint32_t per_second; /* entries; 0: no limit */
    int64_t next_ms;     /* Unix time of the next piece; writer thread only */
};

/* Returns whether there is no limit at all. */
bool throttle_free(const struct throttle *throttle);

/* Returns how many entries the job may work on now: 0 while it is paused or has
 * used its share, SIZE_MAX without a limit. now_ms: Unix time. */
size_t throttle_allowance(const struct throttle *throttle, int64_t now_ms);

/* Counts entries that the job has worked on. */
void throttle_spend(struct throttle *throttle, size_t entries, int64_t now_ms);

/* Spends at most `most` entries of the allowance, and returns their number. */
size_t throttle_take(struct throttle *throttle, size_t most, int64_t now_ms);

/* Returns the Unix time in ms when the allowance is above 0 again; INT64_MAX
 * while the job is paused. */
int64_t throttle_due_ms(const struct throttle *throttle, int64_t now_ms);

/* Returns whether both are the same limit. */
bool throttle_equal(const struct throttle *a, const struct throttle *b);

#endif
