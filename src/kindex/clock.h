/* Clocks: wall time and monotonic time. */
#ifndef KINDEX_CLOCK_H
#define KINDEX_CLOCK_H

#include <stdint.h>

/* Unix time in milliseconds. Tests can set it; 0 restores the real clock. */
int64_t kx_now_ms(void);
void kx_clock_set(int64_t now_ms);

/* From now on kx_now_ms is another clock, which has just shown now_ms, as far
 * as the monotonic clock has run since; and at least least_ms. It is never set
 * back: where it is ahead, it runs at half the speed until the other clock has
 * caught up. For one thread at a time; kx_now_ms is for any. */
void kx_clock_follow(int64_t now_ms, int64_t least_ms);

/* Nanoseconds since an arbitrary point; never goes backwards. */
uint64_t kx_monotonic_ns(void);

/* In nanoseconds. */
enum { KX_MS_NS = 1000000, KX_SECOND_NS = 1000000000 };

/* Milliseconds to wait until kx_monotonic_ns reaches at_ns; 0 if it already
 * has. */
int64_t kx_ms_until(uint64_t at_ns);

#endif
