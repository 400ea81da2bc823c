/* Commits that the writer carries out as one batch. */
#ifndef TEST_TOGETHER_H
#define TEST_TOGETHER_H

#include "store.h"

/* Keeps a view open, so that the writer cannot apply a first commit, submits
 * the others meanwhile, and closes it: the writer then takes them as one batch,
 * with no job in between. */
void test_commit_together(struct test_store *test, void *mem,
                          struct kx_commit *commits, size_t count);

#endif
