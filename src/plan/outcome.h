/* The outcome of a commit as bytes: its status and everything that its answer
 * contains. */
#ifndef OUTCOME_H
#define OUTCOME_H

#include "kindex.h"

/* True if the commit, sent again to the same entries, would have this status
 * again: for success, and for refusals whose reason is the commit or the
 * entries. */
bool outcome_is_definite(enum kx_status status);

/* Appends the result of a commit with a definite status, without values beyond
 * KX_OUTCOME_VALUES_MAX. */
void outcome_write(const struct kx_commit *commit, struct kx_buffer *out);

/* Sets the result of a commit that asks for the same as the one with this
 * outcome. The bytes are copied into the commit's memory; values that were not
 * stored are `omitted`. KX_OK; KX_NO_MEMORY; KX_FAILED if the bytes are not an
 * outcome of such a commit. */
enum kx_status outcome_read(struct kx_slice bytes, struct kx_commit *commit);

#endif
