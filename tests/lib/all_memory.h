/* Setup and teardown for tests of code that allocates without a talloc parent:
 * they find memory that it leaves anywhere. For single-threaded programs. */
#ifndef ALL_MEMORY_H
#define ALL_MEMORY_H

#include "unit.h"

/* *state becomes the memory of a test. */
int all_memory_open(void **state);

/* Fails unless all contexts, also those without a parent, are freed. */
int all_memory_close(void **state);

/* Limits all contexts together to so many bytes from now on; 0 removes it. */
void all_memory_limit(void *state, size_t bytes);

#endif
