/* The form of an index's rows, which its `store` determines, and the change to
 * another form while the index is read.
 *
 * A row can have two forms at once. A job rewrites the rows of an index in
 * steps until all have both forms; then one change in the catalog makes all of
 * them show the new form. Forms are even and odd in turn; the catalog says
 * which one is shown.
 *
 * An index that is built to replace another of its name can have a row under
 * the same key. The row of the older index, with the smaller id, then contains
 * the row of the newer one. Each is found by its index's id and changes
 * independently. */
#ifndef ROW_FORM_H
#define ROW_FORM_H

#include "catalog/catalog.h"
#include "schema/extract.h"

/* Turns a stored row into the row of this index. False: it has no such row. */
bool row_form_of(struct record *row, uint32_t index);

/* Returns the row of another index that a stored row contains. False: it
 * contains no other row. */
bool row_form_inner(const struct record *row, struct record *inner_out);

/* Appends a row that contains the row of another index. If memory runs out,
 * out->failed is set. */
void row_form_write_both(const struct record *row, const struct record *other,
                         struct kx_buffer *out);

/* Replaces a stored row by its form that the index shows. */
void row_form_pick(const struct index *index, struct record *row);

/* Like row_form_pick, but with the stamp that clients see under the row's own
 * key: at least the stamp of the form, because the form changed the row. */
void row_form_show(const struct index *index, struct record *row);

/* Appends the row of the n-th extracted key, in all forms that the index needs
 * now. stamp: that of a pointer; a copy has the stamp of its entry. KX_OK,
 * KX_NO_MEMORY. */
enum kx_status row_form_write(const struct index *index,
                              struct extract *extract, size_t n, uint64_t stamp,
                              struct kx_buffer *out);

/* Appends a stored row with its current forms: the shown form is unchanged; the
 * future form, if any, is made from the only extracted key. row becomes the
 * shown form. KX_OK, KX_NO_MEMORY. */
enum kx_status row_form_rewrite(const struct index *index,
                                struct extract *extract, struct record *row,
                                struct kx_buffer *out);

/* Finds the entry that an index row was made from, and checks that it still
 * yields that index key. Reads the table, so jobs use it between batches.
 * Writer thread only. */
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
