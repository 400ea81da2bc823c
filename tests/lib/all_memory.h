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
    size_t blocks = talloc_total_blocks(NULL);
    talloc_free(*state);
    talloc_disable_null_tracking();
    /* The test's own context, and the one in which contexts are tracked. */
    assert_int_equal(blocks, 2);
    return 0;
}

/* From here on all contexts together have at most so many bytes; 0: any. Talloc
 * calls it deprecated without having anything else. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static inline void all_memory_limit(void *state, size_t bytes)
{
    assert_int_equal(talloc_set_memlimit(talloc_parent(state), bytes), 0);
}
#pragma GCC diagnostic pop

#endif
