/* The rows of one index (build_rows.h), for the two files that work on them. */
#ifndef BUILD_ROWS_STATE_H
#define BUILD_ROWS_STATE_H

#include "builds/build_rows.h"
#include "builds/row_sorter.h"
#include "builds/run_file.h"
#include "plan/plan_cost.h"
#include "schema/extract.h"

struct build_rows {
    struct writer *writer;
    struct index *index;
    /* How far the build has come with what is read here. */
    struct build_progress build;
    struct kx_slice from;
    struct kx_buffer to;
    bool complete;
    struct throttle pace; /* when it began */
    /* Rows that were gathered and not given. */
    struct row_sorter *sorter;
    struct run_file *runs; /* or NULL: all are in the sorter */
    bool spilling;
    uint64_t written;
    /* Rows that were given, and those that are not yet stored of them. */
    void *step; /* talloc parent of what is copied for them */
    struct row_write *given;
    struct row_write *kept;
    size_t given_count;
    size_t capacity;
    const struct build_window *window; /* only while a scan is read */
    struct extract extract;
    struct extract others;   /* of other indexes, to add up what it costs */
    struct plan_load load;   /* of all indexes; as the window */
    struct kx_fault failure; /* status KX_OK: none */
    struct kx_buffer key;    /* scratch */
    struct kx_buffer record;
    struct kx_buffer entry;
};

#endif
