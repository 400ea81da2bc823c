/* The outcome of a commit as bytes: what became of it, and all that its answer
 * tells. */
#ifndef OUTCOME_H
#define OUTCOME_H

#include "kindex.h"

/* Would the commit, sent again to the same entries, have this status again?
 * True for success, and for refusals for which the commit or the entries are
 * the reason. */
bool outcome_is_definite(enum kx_status status);

/* Appends the result of a commit with a definite status, without values beyond
 * KX_OUTCOME_VALUES_MAX. */
void outcome_write(const struct kx_commit *commit, struct kx_buffer *out);

/* Sets the result of a commit that asks for the same as the one whose outcome
 * this was. The bytes are copied into the commit's memory. KX_OK, KX_NO_MEMORY,
 * KX_FAILED (no such outcome). Values that were not kept are `omitted`. */
enum kx_status outcome_read(struct kx_slice bytes, struct kx_commit *commit);

#endif
