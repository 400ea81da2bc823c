/* Commits that the writer takes together. */
#ifndef TEST_TOGETHER_H
#define TEST_TOGETHER_H

#include "store.h"

/* While a view is open the writer cannot apply the first commit. The others are
 * submitted when it has taken this one: it takes them together, with no time
 * for a job in between. */
void test_commit_together(struct test_store *test, void *mem,
                          struct kx_commit *commits, size_t count);

#endif
