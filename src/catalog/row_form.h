/* The form of an index's rows, which its `store` decides, and the change to
 * another form while the index is read.
 *
 * A row can have two forms at once. A job rewrites the rows of an index in
 * steps until all have both; then one change in the catalog makes all of them
 * show the new form. Forms are even and odd in turn, and the catalog holds
 * which is shown.
 *
 * An index that is built to replace another of its name can have a row under
 * the same key. Then the row of the older one, the smaller id, contains that of
 * the other; each is found by its id, and neither changes with the other. */
#ifndef ROW_FORM_H
#define ROW_FORM_H

#include "catalog/catalog.h"
#include "schema/extract.h"

/* Makes a stored row the row that this index has in it. False: it has none. */
bool row_form_of(struct record *row, uint32_t index);

/* The row of another index that a stored row contains. False: it contains no
 * such row. */
bool row_form_inner(const struct record *row, struct record *inner_out);

/* Appends a row with that of another index in it. Without memory out->failed is
 * set. */
void row_form_write_both(const struct record *row, const struct record *other,
                         struct kx_buffer *out);

/* Replaces a stored row by the form of it that the index shows. */
void row_form_pick(const struct index *index, struct record *row);

/* The same, with the stamp that clients see under the row's own key: at least
 * that of the form, because the form changed what the row holds. */
void row_form_show(const struct index *index, struct record *row);

/* Appends the row of the n-th extracted key, in all forms that it needs now.
 * stamp: of a pointer; a copy has the stamp of its entry. KX_OK,
 * KX_NO_MEMORY. */
enum kx_status row_form_write(const struct index *index,
                              struct extract *extract, size_t n, uint64_t stamp,
                              struct kx_buffer *out);

/* Appends a stored row with its present forms: the one that is shown is
 * unchanged, the future one, if there is one, is made from the only extracted
 * key. row becomes the form that is shown. KX_OK, KX_NO_MEMORY. */
enum kx_status row_form_rewrite(const struct index *index,
                                struct extract *extract, struct record *row,
                                struct kx_buffer *out);

#endif
