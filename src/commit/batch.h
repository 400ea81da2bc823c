/* Applying what was planned: all rows that a batch changes, in one
 * transaction, together with the catalog in memory. Writer thread only.
 */
#ifndef BATCH_H
#define BATCH_H

#include "commit/writer_state.h"

enum catalog_action {
    CATALOG_KEEP,
    CATALOG_ADD,  /* index is new; a failed one of its name is dropped; if index
                   * is to replace another, a failed successor of that one is
                   * dropped */
    CATALOG_DROP, /* its name is free at once, its entries go later */
    CATALOG_FORGET,   /* its entries are gone */
    CATALOG_BUILD,    /* it gets `state` and `build`; when it becomes ready it
                       * takes the place of the one that it replaces */
    CATALOG_PROGRESS, /* it gets `build`, which is not stored */
    CATALOG_AGAIN,    /* the same, and `pace`: its build starts over */
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
    uint64_t stamp;  /* last stamp given, 0: as it was */
    int64_t entries; /* added to the number of clients' entries */
    bool durable;    /* on disk before a view sees it; without a plan */

    /* One index, and what the action gives it. */
    enum catalog_action action;
    struct index *index;       /* NULL: only with CATALOG_KEEP */
    int64_t index_entries;     /* added to its count */
    int64_t index_conflicts;   /* and to that of its conflict rows */
    enum kx_index_state state; /* CATALOG_BUILD */
    const char *failure; /* CATALOG_BUILD, CATALOG_FORM: why it has failed, ""
                          * for not, or NULL: as it was */
    struct build_progress build;        /* the same */
    struct throttle pace;               /* CATALOG_PACE */
    struct declaration *declaration;    /* CATALOG_FORM */
    struct row_form form;               /* the same */
    struct verify_report *verification; /* CATALOG_VERIFY: changes places with
                                         * the index's */
    struct kx_adoption *adoption; /* CATALOG_BUILD: changes places with the
                                   * index's; NULL: that stays */

    /* More changes of the catalog in the same transaction, each of another
     * index. Of them only the members about one index are used. */
    struct batch *also;
    size_t also_count;

    /* Set by batch_apply. */
    struct index *other;        /* dropped together with `index` */
    enum kx_index_state before; /* that `index` was in */
};

/* Sets `other` and `before` of the batch and of batch->also. */
void batch_catalog_note(const struct catalog *catalog, struct batch *batch);

/* Applies the batch. KX_OK: it is visible, and on disk after the next flush;
 * *number_out is the argument for view_flushed; the store keeps the plan until
 * the next batch or batch_release. Otherwise nothing has changed, except with
 * KX_UNKNOWN: a durable batch that may be on disk all the same. */
enum kx_status batch_apply(struct writer *writer, struct batch *batch,
                           uint64_t *number_out);

/* Frees the plan of the last batch, which must be on disk, if it is large. */
void batch_release(struct writer *writer);

#endif
