/* Problems for the statuses with which the store refuses commits and reads, so
 * that a status has the same members on every route. Errors in the request
 * itself are found before the store is called (input_error.h). All functions
 * need the request's reader, and begin their own views: call them in a section,
 * not between kx_read_begin and kx_read_end. */
#ifndef API_REFUSAL_H
#define API_REFUSAL_H

#include "http/problem.h"
#include "rest/selector.h"

/* Section: answers a refused commit (commit.status is not KX_OK) with the
 * problem of its status and the members of the refusal: checks with expected
 * and actual versionstamps, the index and the conflicting key, the number of
 * the mutation. `arg` is unused. */
section_fn refuse_commit;

/* Adds the member didYouMean: an index with a name similar to this one, if the
 * caller may read by such an index. */
void refuse_near_index(struct request *request, struct reply *reply,
                       struct kx_slice name);

/* Answers a read that failed with fault->status. For KX_INDEX_NOT_READY,
 * KX_INDEX_ABSENT and KX_INDEX_NOT_UNIQUE `index` is the name of the index; the
 * problem of an index that is being built shows its progress. */
void refuse_read(struct request *request, struct reply *reply,
                 const struct kx_fault *fault, struct kx_slice index);

/* Answers a failed read of one key; the index is the one whose entry the key
 * is. */
void refuse_key(struct request *request, struct reply *reply,
                const struct kx_fault *fault, struct kx_slice key);

/* Answers a failed scan; the index is the one that the selector names, or whose
 * entries its range has. */
void refuse_scan(struct request *request, struct reply *reply,
                 const struct kx_fault *fault, const struct selector *selector);

/* Reads the keys that the caller wants to watch, since an unreadable key, such
 * as an entry of an index that is being built, can be refused only before the
 * reply begins. Returns false if a key cannot be read: the reply is complete.
 */
bool refuse_watched(struct request *request, struct reply *reply,
                    const struct kx_slice *keys, size_t count);

#endif
