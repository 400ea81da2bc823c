/* Conditions of an index on the values of entries. */
#ifndef PREDICATE_H
#define PREDICATE_H

#include "schema/declaration.h"

/* Do all conditions hold for a document (checked JSON; size 0: a value without
 * members)? KX_OK; KX_ABSENT when one does not; KX_NO_MEMORY. scratch's
 * contents are replaced. */
enum kx_status predicate_holds(const struct declaration *declaration,
                               struct kx_slice document,
                               struct kx_buffer *scratch);

/* Does the condition hold for a value, an encoded part (size 0: null)? */
bool predicate_admits(const struct condition *condition, struct kx_slice part);

/* Are both parts of one type, so that they can be greater and less? */
bool predicate_comparable(struct kx_slice a, struct kx_slice b);

#endif
