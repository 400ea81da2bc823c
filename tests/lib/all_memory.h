/* Setup and teardown for tests of code that allocates without a parent: what
 * it leaves anywhere is noticed. Not for programs with several threads. */
#ifndef ALL_MEMORY_H
#define ALL_MEMORY_H

#include "unit.h"

/* *state becomes the memory of a test. */
int all_memory_open(void **state);

/* Fails unless all contexts, also those without a parent, are freed. */
int all_memory_close(void **state);

/* From here on all contexts together have at most so many bytes; 0: any. */
void all_memory_limit(void *state, size_t bytes);

#endif
