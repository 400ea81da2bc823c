/* Conditions of an index, or of a check, on the values of entries. */
#ifndef PREDICATE_H
#define PREDICATE_H

#include "base/charge.h"
#include "schema/declaration.h"
#include "schema/index_document.h"

/* Evaluates all conditions for a document (checked JSON; size 0: a value
 * without members). KX_OK if all hold; KX_ABSENT if one does not, then
 * *failed_out is the first such (NULL is allowed); KX_NO_MEMORY. The contents
 * of scratch are replaced. The charge (NULL: not counted) pays for the
 * bytes that are passed over and compared. */
enum kx_status predicate_holds(const struct declaration *declaration,
                               struct kx_slice document,
                               struct kx_buffer *scratch, struct charge *charge,
                               const struct condition **failed_out);

/* True if the condition holds for a value, given as an encoded part (size 0:
 * null). */
bool predicate_admits(const struct condition *condition, struct kx_slice part);

/* True if both parts are of the same type, so that greater and less are
 * defined. */
bool predicate_comparable(struct kx_slice a, struct kx_slice b);

/* The conditions of a check: those of an index, without the rest of its
 * declaration. */
struct kx_where {
    struct declaration *conditions; /* only its `where` is set */
    /* For kx_where_holds. */
    struct index_document decoded;
    struct kx_buffer scratch;
};

#endif
