/* The form of an index's rows: what they hold because of its `store`, and how
 * it gets another one while it is read.
 *
 * A row can have two forms at once. So the rows of an index are rewritten some
 * at a time until all have both, and one change in the catalog makes all of
 * them show the other. Forms are even and odd by turns: the catalog knows which
 * is shown.
 */
#ifndef ROW_FORM_H
#define ROW_FORM_H

#include "catalog/catalog.h"
#include "schema/extract.h"

/* Makes a stored row the form of it that the index shows. */
void row_form_pick(const struct index *index, struct record *row);

/* The same, with the stamp that clients see under the row's own key: not older
 * than the form, by which it holds something else than before. */
void row_form_show(const struct index *index, struct record *row);

/* Appends the row of the n-th key that was extracted, in all forms that it
 * needs now. stamp: of a pointer; a copy has the stamp of what it copies.
 * KX_OK, KX_NO_MEMORY. */
enum kx_status row_form_write(const struct index *index,
                              struct extract *extract, size_t n, uint64_t stamp,
                              struct kx_buffer *out);

/* Appends a stored row as it is to be now: the form that is shown stays as it
 * is, and that to come, if there is one, is that of the one extracted key.
 * row becomes the form that is shown. KX_OK, KX_NO_MEMORY. */
enum kx_status row_form_rewrite(const struct index *index,
                                struct extract *extract, struct record *row,
                                struct kx_buffer *out);

#endif
