/* Which entry a row of an index stands for, if that has its index key at all.
 * Reads the table, so only for jobs, between batches. Writer thread only.
 */
#ifndef ROW_SOURCE_H
#define ROW_SOURCE_H

#include "catalog/row_form.h"

struct row_source {
    struct env *env;
    const struct index *index;
    struct kx_buffer key;   /* of the entry */
    struct kx_buffer bytes; /* and its record */
    struct record record;
    struct extract extract; /* with this index key alone */
    size_t read;            /* bytes of entries so far */
};

/* Buffers are talloc context mem's; all serve one row after the other. */
void row_source_init(struct row_source *source, void *mem, struct env *env,
                     const struct index *index);

/* Fills the stand from the row under index_key. KX_OK; KX_ABSENT: there is no
 * such entry; KX_NOT_INDEXABLE: there is, but it has no such index key;
 * KX_NO_MEMORY, KX_FAILED. */
enum kx_status row_source_find(struct row_source *source,
                               struct kx_slice index_key,
                               const struct record *row);

#endif
