/* Setup and teardown for tests of code that allocates without a parent: what
 * it leaves anywhere is noticed. Not for programs with several threads. */
#ifndef ALL_MEMORY_H
#define ALL_MEMORY_H

#include "unit.h"

static inline int all_memory_open(void **state)
{
    talloc_enable_null_tracking();
    *state = talloc_new(NULL);
    return *state == NULL;
}

static inline int all_memory_close(void **state)
{
    /* The test's own context, and the one in which contexts are tracked. */
    assert_int_equal(talloc_total_blocks(NULL), 2);
    talloc_free(*state);
    talloc_disable_null_tracking();
    return 0;
}

#endif
