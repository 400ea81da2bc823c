/* Problems made of refusals of the core: one place for all handlers, so that a
 * refusal has the same members on every route. Errors in the request itself are
 * found before the core is called (input_error.h). */
#ifndef API_CORE_REFUSAL_H
#define API_CORE_REFUSAL_H

#include "http/problem.h"
#include "rest/selector.h"

/* For a refused commit (commit.status is not KX_OK): makes the reply a problem
 * with its status and the members of the refusal (checks with expected and
 * actual versionstamps, the index and the conflicting key, the number of the
 * mutation). */
void core_refusal_commit(struct request *request, struct reply *reply);

/* Adds the name of an index that the misspelt one was probably meant for, as
 * the member didYouMean, if the caller may read by such an index. Begins a view
 * of its own. */
void core_refusal_near_index(struct request *request, struct reply *reply,
                             struct kx_slice name);

/* A read ended with fault->status. For KX_INDEX_NOT_READY, KX_INDEX_ABSENT and
 * KX_INDEX_NOT_UNIQUE `index` is the name concerned, and an index that is being
 * built is shown with its progress. Not between kx_read_begin and kx_read_end.
 *. */
void core_refusal_read(struct request *request, struct reply *reply,
                       const struct kx_fault *fault, struct kx_slice index);

/* The same for a read of one key: the index is the one to which it belongs. */
void core_refusal_key(struct request *request, struct reply *reply,
                      const struct kx_fault *fault, struct kx_slice key);

/* Reads the keys that are to be watched, since a key that cannot be read, such
 * as one of an index that is being built, can be refused only before the reply
 * has begun. False: reply is then complete. Begins a view of its own. */
bool core_refusal_watched(struct request *request, struct reply *reply,
                          const struct kx_slice *keys, size_t count);

/* Like core_refusal_read for a scan of a selector: the index is the one that it
 * names, or the one to which the keys of its range belong. */
void core_refusal_scan(struct request *request, struct reply *reply,
                       const struct kx_fault *fault,
                       const struct selector *selector);

#endif
