#include "all_memory.h"

int all_memory_open(void **state)
{
    talloc_enable_null_tracking();
    *state = talloc_new(NULL);
    return *state == NULL;
}

int all_memory_close(void **state)
{
    size_t blocks = talloc_total_blocks(NULL);
    talloc_free(*state);
    talloc_disable_null_tracking();
    /* The test's own context, and the one in which contexts are tracked. */
    assert_int_equal(blocks, 2);
    return 0;
}

/* Talloc calls talloc_set_memlimit deprecated, and has nothing else. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void all_memory_limit(void *state, size_t bytes)
{
    assert_int_equal(talloc_set_memlimit(talloc_parent(state), bytes), 0);
}
#pragma GCC diagnostic pop
