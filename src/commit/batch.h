/* Applies a planned batch: all rows that it changes, in one transaction,
 * together with the catalog in memory. Writer thread only. */
#ifndef BATCH_H
#define BATCH_H

#include "commit/writer_state.h"

enum catalog_action {
    CATALOG_KEEP,
    CATALOG_ADD,      /* the index is new; a failed one of its name, or a failed
                       * successor of the one that it is to replace, is
                       * dropped */
    CATALOG_DROP,     /* its name is free at once, its entries go later */
    CATALOG_FORGET,   /* its entries are gone */
    CATALOG_BUILD,    /* it gets `state` and `build`; when it becomes ready it
                       * takes the place of the one that it replaces */
    CATALOG_PROGRESS, /* it gets `build`, which is not stored */
    CATALOG_AGAIN,    /* its build starts over, with `state`, `build`, `pace` */
    CATALOG_PACE,     /* it gets `pace` */
    CATALOG_FORM,     /* it gets `declaration`, `form` and `build`; a failed
                       * successor of it is dropped */
    CATALOG_VERIFY    /* it gets `verification` */
};

struct batch {
    /* Rows. */
    struct plan *plan;        /* entries that change, or NULL */
    struct row_write *writes; /* more writes, or NULL */
    size_t write_count;
    bool new_index_rows; /* nothing of `writes` is cached */

    /* The catalog as a whole. */
    uint64_t stamp;  /* last stamp given; 0: unchanged */
    int64_t entries; /* added to the number of clients' entries */
    bool durable;    /* on disk before a view sees it; only without a plan */

    /* One index, and the values that the action gives it. */
    enum catalog_action action;
    struct index *index;     /* NULL: only with CATALOG_KEEP */
    int64_t index_entries;   /* added to its count of entries */
    int64_t index_conflicts; /* added to its count of conflict rows */
    int64_t left_out[KX_LEFT_OUT_REASONS]; /* added to its counts of entries
                                            * left out */
    bool left_out_known;                   /* clears index->left_out_unknown */
    enum kx_index_state state;             /* CATALOG_BUILD */
    const char *failure; /* CATALOG_BUILD, CATALOG_FORM: why it has failed; "":
                          * it has not; NULL: unchanged */
    struct build_progress build;        /* CATALOG_BUILD, PROGRESS, FORM */
    struct throttle pace;               /* CATALOG_PACE */
    struct declaration *declaration;    /* CATALOG_FORM */
    struct row_form form;               /* CATALOG_FORM */
    struct verify_report *verification; /* CATALOG_VERIFY: changes places with
                                         * the index's */
    struct kx_adoption *adoption; /* CATALOG_BUILD: changes places with the
                                   * index's; NULL: unchanged */

    /* More changes of the catalog in the same transaction, each of another
     * index. Only the members of a part that are about one index are used. */
    struct batch *parts;
    size_t part_count;

    /* Set by batch_apply. */
    struct index *other;        /* dropped together with `index` */
    enum kx_index_state before; /* that `index` was in */
};

/* Sets `other` and `before` of the batch and its parts. */
void batch_note_indexes(const struct catalog *catalog, struct batch *batch);

/* Applies the batch. KX_OK: the batch is visible, and on disk after the next
 * flush; *number_out is the argument for flush_batch or view_flushed; the store
 * keeps the plan until the next batch or batch_release. KX_UNKNOWN: the flush
 * of a durable batch has failed, and the batch may be on disk. KX_CHECK_FAILED
 * (an optimistic assumption of the plan is wrong), KX_NO_MEMORY, KX_DISK_FULL,
 * KX_FAILED: nothing has changed. */
enum kx_status batch_apply(struct writer *writer, struct batch *batch,
                           uint64_t *number_out);

/* Frees the plan of the last batch, which must be on disk, if it is large. */
void batch_release(struct writer *writer);

#endif
