/* What every fuzz target begins with. A target is a program of libFuzzer: it is
 * called with one input after the other, and whatever it asserts (with cmocka's
 * words, as a unit test does) must hold for each of them. What it allocates in
 * the memory it is given is freed after the call; what it leaves elsewhere is a
 * leak, and found. */
#ifndef FUZZ_H
#define FUZZ_H

#include "kindex.h"
#include "unit.h"

/* The target's own. */
void fuzz(struct kx_slice input, void *memory);

/* Takes `size` bytes off the front of what is left, or all that is left. */
struct kx_slice fuzz_take(struct kx_slice *rest, size_t size);
/* Takes one byte; 0 when nothing is left. */
uint8_t fuzz_byte(struct kx_slice *rest);
/* Takes what comes before the next `mark`, and the mark. */
struct kx_slice fuzz_until(struct kx_slice *rest, char mark);
/* A copy in a block of just its size, so that a sanitizer sees each access
 * beyond it. */
struct kx_slice fuzz_alone(struct kx_slice bytes, void *memory);

#endif
