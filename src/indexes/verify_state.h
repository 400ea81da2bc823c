/* What the files of a verification share: one job of it. Writer thread only.
 */
#ifndef VERIFY_STATE_H
#define VERIFY_STATE_H

#include "plan/plan.h"
#include "catalog/row_source.h"
#include "commit/store_state.h"

/* One job. Everything lies in mem, but for plan and next, which the store and
 * the index get. */
struct verify {
    struct kx_store *store;
    struct index *index;
    void *mem;
    struct plan *plan;          /* the repairs; NULL: none are made */
    struct verify_report *next; /* what the verification will be */
    int64_t entries;            /* added to the index's count */
    size_t looked_up;           /* rows of entries that were read so far */
    size_t looked_up_bytes;
    struct row_source source;
    struct row_source
        other_source; /* the owner of the row that another should have */
    struct kx_buffer made;
    struct kx_buffer row; /* as it is stored */
};

/* Compares a stored row under the name of the index with the entry that it
 * stands for, or an entry under the prefix with its rows; notes what is wrong
 * in job->next, and repairs it in job->plan. KX_OK, errors of the storage. */
enum kx_status verify_row(struct verify *job, struct kx_slice key,
                          struct kx_slice bytes);
enum kx_status verify_entry(struct verify *job, struct kx_slice key,
                            struct kx_slice bytes);

#endif
