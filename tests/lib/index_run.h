/* A store, the model of its data, and declared indexes: random commits that
 * must end as the model predicts, and comparisons of indexes with the model. */
#ifndef INDEX_RUN_H
#define INDEX_RUN_H

#include "index_changes.h"

enum { SHAPES = 6 };

struct run {
    struct test_store test;
    struct data data;
    enum model_flaw flaw;
    struct index_shape shapes[SHAPES];
    bool declared[SHAPES];
    char wrong[4000]; /* the first difference found; "": none */
};

/* Chooses a random declaration for the index i<i>, without declaring it. */
void index_run_shape(struct run *run, size_t i);

/* Returns whether the index i<i> accepts all entries: none is refused, and no
 * two have the same value if the index is unique. */
bool index_run_allows(struct run *run, size_t i);

/* Makes a random commit, in the model as well. A result that the model does not
 * predict is noted in run->wrong. */
void index_run_commit(struct run *run);

/* Compares the entries that the index has with those that the model computes;
 * the first difference is noted in run->wrong. */
void index_run_compare(struct run *run, const struct index_shape *shape);

#endif
