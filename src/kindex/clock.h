/* What time it is. */
#ifndef KINDEX_CLOCK_H
#define KINDEX_CLOCK_H

#include <stdint.h>

/* Unix time in milliseconds; tests can set it (0 gives the real clock back). */
int64_t kx_now_ms(void);
void kx_clock_set(int64_t now_ms);
/* Nanoseconds from an arbitrary point, never going back. */
uint64_t kx_monotonic_ns(void);

/* In nanoseconds. */
enum { KX_MS_NS = 1000000, KX_SECOND_NS = 1000000000 };

/* For how many milliseconds to wait, so that this moment of kx_monotonic_ns has
 * come; 0: it has come already. */
int64_t kx_ms_until(uint64_t at_ns);

#endif
