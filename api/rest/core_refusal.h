/* Problems made of what the core refused: one place for all handlers, so that a
 * refusal has the same members whichever route it came by. What was wrong with
 * the request itself is a flaw (input_error.h) and never gets this far. */
#ifndef API_REFUSAL_H
#define API_REFUSAL_H

#include "http/problem.h"
#include "rest/selector.h"

/* The request's commit was refused: a problem with its status and all that the
 * refusal names (checks with expected and actual versionstamps, the index and
 * the key in its way, the number of the mutation). Call it when commit.status
 * is not KX_OK. Returns DONE. */
enum progress core_refusal_commit(struct request *request, struct reply *reply);

/* Adds the name of an index that the misspelt one was probably meant for, as
 * the member didYouMean, if the caller may read by such an index. Begins a view
 * of its own. */
void core_refusal_near_index(struct request *request, struct reply *reply,
                             struct kx_slice name);

/* A read ended with fault->status. For KX_INDEX_NOT_READY, KX_INDEX_ABSENT and
 * KX_INDEX_NOT_UNIQUE `index` is the name concerned, and an index that is being
 * built is shown with its progress. Not between kx_read_begin and kx_read_end.
 * Returns DONE. */
enum progress core_refusal_read(struct request *request, struct reply *reply,
                                const struct kx_fault *fault,
                                struct kx_slice index);

/* The same for a scan of what the selector says: the index is the one it names,
 * or the one that the range's keys belong to. */
enum progress core_refusal_scan(struct request *request, struct reply *reply,
                                const struct kx_fault *fault,
                                const struct selector *selector);

/* Makes the name of the index that a key belongs to, if it does: its first
 * part when that is a string, else empty. Appended to out. */
void core_refusal_index_of(struct kx_slice key, struct kx_buffer *out);

#endif
