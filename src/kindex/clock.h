/* What time it is. */
#ifndef KINDEX_CLOCK_H
#define KINDEX_CLOCK_H

#include <stdint.h>

/* Unix time in milliseconds; tests can set it (0 gives the real clock back). */
int64_t kx_now_ms(void);
void kx_clock_set(int64_t now_ms);
/* Nanoseconds from an arbitrary point, never going back. */
uint64_t kx_monotonic_ns(void);

#endif
