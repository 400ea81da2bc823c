/* A run of plan_index_random_test.c: a store, the model of its data, and the
 * declared indexes. */
#ifndef INDEX_RUN_H
#define INDEX_RUN_H

#include "index_changes.h"

enum { SHAPES = 6 };

struct run {
    struct test_store test;
    struct data data;
    enum model_flaw flaw;
    struct index_shape shapes[SHAPES];
    char wrong[4000]; /* what was found, "" while all is well */
};

/* Compares the entries that the index has with those that the model computes;
 * the first difference is noted in run->wrong. */
void index_run_compare(struct run *run, const struct index_shape *shape);

#endif
