/* The rows of one batch: rows of entries, which are gathered while views are
 * open, and rows that are written from the catalog in memory. Writer thread
 * only. */
#ifndef BATCH_ROWS_H
#define BATCH_ROWS_H

#include "commit/batch.h"

/* The rows while they are gathered. Keys and values point into the plan's
 * overlay, or lie in mem. `failed` is tested once, before they are applied. */
struct rows {
    void *mem;
    struct row_write *list;
    size_t count;
    size_t capacity;
    size_t applied; /* of the first, in slices, before the others */
    bool failed;
};

/* Adds the rows of the keys that the batch's plan has changed (net, in key
 * order), and then those that the batch itself lists. */
void batch_rows_add(struct rows *rows, struct writer *writer,
                    const struct batch *batch, const struct net_change *net,
                    size_t net_count);

/* Adds the rows of the catalog as it is in memory now. */
void batch_rows_add_catalog(struct rows *rows, const struct catalog *catalog,
                            const struct batch *batch);

#endif
