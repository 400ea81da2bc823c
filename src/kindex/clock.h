/* Clocks: wall time and monotonic time. */
#ifndef KINDEX_CLOCK_H
#define KINDEX_CLOCK_H

#include <stdint.h>

/* Returns the Unix time in milliseconds. Tests set the clock with kx_clock_set;
 * 0 restores the real one. */
int64_t kx_now_ms(void);
void kx_clock_set(int64_t now_ms);

/* Makes kx_now_ms follow another clock, which has just shown now_ms: it adds
 * the time that the monotonic clock has run since, and returns at least
 * least_ms. It is never set back: if it is ahead of the other clock, it runs at
 * half speed until the other clock has caught up. One thread at a time; any
 * thread may call kx_now_ms meanwhile. */
void kx_clock_follow(int64_t now_ms, int64_t least_ms);

/* Returns nanoseconds since an arbitrary point; never goes backwards. */
uint64_t kx_monotonic_ns(void);

/* Nanoseconds of a millisecond and of a second. */
enum { KX_MS_NS = 1000000, KX_SECOND_NS = 1000000000 };

/* Returns the milliseconds until kx_monotonic_ns reaches at_ns; 0 if that time
 * is past. */
int64_t kx_ms_until(uint64_t at_ns);

#endif
