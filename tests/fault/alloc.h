/* Allocations that fail on purpose. The program that is linked with alloc.c has
 * its malloc, and with it that of every library. What Berkeley DB allocates
 * itself does not fail: without memory it panics. */
#ifndef ALLOC_H
#define ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* From now on the n-th allocation fails, counted from 1 over all threads; with
 * `persistent` those after it as well. */
void alloc_arm(size_t n, bool persistent);
/* Nothing fails any more. Returns how many did. */
size_t alloc_disarm(void);
/* Allocations of this thread never fail and are not counted. */
void alloc_exempt(bool exempt);
/* What this library allocates, directly or by the C library, does not fail:
 * some, beside Berkeley DB. */
void alloc_spare(const char *library);
/* Blocks that were allocated and not freed. */
long alloc_live(void);
/* With KX_ALLOC_TRACE in the environment: begins to note where blocks are made,
 * and prints where those were that are left. Slow. */
void alloc_trace(void);
void alloc_left(void);
/* Prints where the last one failed, by function names, to standard error. */
void alloc_where(void);

#endif
