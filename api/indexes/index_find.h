/* What the handlers of /indexes/{name} and of what lies below it share. */
#ifndef API_INDEX_FIND_H
#define API_INDEX_FIND_H

#include "http/input_error.h"

/* Sets *name_out, in the request's memory, to the index that the path names.
 * Query parameters are an error. Returns false when the reply is the problem.
 */
bool index_only_name(struct request *request, struct reply *reply,
                     struct kx_buffer *name_out);

/* The reply becomes a 404 for an index of this name. In a section. */
void index_missing(struct request *request, struct reply *reply,
                   struct kx_slice name);

/* The reply becomes the problem that refused the request's commit, with the
 * name where it is the index that is in the way. In a section. */
void index_refused(struct request *request, struct reply *reply,
                   struct kx_slice name);
/* Commits a command about the index that it names. False: the reply is
 * complete; it is 404 if there is no such index. For handlers. */
bool index_commit(struct request *request);

/* The index of this name, for handlers that last: an index that the caller may
 * not see, and that has taken the name since, is not found. Inside a view. */
bool index_find(const struct request *request, struct kx_slice name,
                struct kx_index_info *info_out);

/* Appends the index as JSON to the reply's body; false when no index has the
 * name. *state_out is then unchanged; without it how much the index is used is
 * shown, too. */
bool index_append(struct request *request, struct reply *reply,
                  struct kx_slice name, enum kx_index_state *state_out);

#endif
