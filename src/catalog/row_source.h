/* Finds the entry that an index row was made from, and checks that it still
 * yields that index key. Reads the table, so jobs use it between batches.
 * Writer thread only. */
#ifndef ROW_SOURCE_H
#define ROW_SOURCE_H

#include "catalog/row_form.h"

struct row_source {
    struct engine_view *view;
    const struct index *index;
    struct kx_buffer key;   /* of the entry */
    struct kx_buffer bytes; /* of the entry's record */
    struct record record;
    struct extract extract; /* contains only this index key */
    size_t read;            /* bytes of entries so far */
};

/* Initializes source; its buffers are in talloc context mem and are reused for
 * every row. */
void row_source_init(struct row_source *source, void *mem,
                     struct engine_view *view, const struct index *index);

/* Fills source from the row under index_key. KX_OK; KX_ABSENT: the entry does
 * not exist; KX_NOT_INDEXABLE: the entry does not have this index key;
 * KX_NO_MEMORY, KX_FAILED, KX_UNREACHABLE. */
enum kx_status row_source_find(struct row_source *source,
                               struct kx_slice index_key,
                               const struct record *row);

#endif
