/* What the handlers of /indexes/{name} and below share. */
#ifndef API_INDEX_FIND_H
#define API_INDEX_FIND_H

#include "http/input_error.h"

/* Sets *name_out, in the request's memory, to the name of the index in the
 * path. Query parameters are an error. On false the reply is complete. */
bool index_only_name(struct request *request, struct reply *reply,
                     struct kx_buffer *name_out);

/* Answers 404 for an index of this name. In a section. */
void index_missing(struct request *request, struct reply *reply,
                   struct kx_slice name);

/* Answers with the problem of the refused commit, and with the name if the
 * index is the reason. In a section. */
void index_refused(struct request *request, struct reply *reply,
                   struct kx_slice name);
/* Commits a command about the index that it names. On false the reply is
 * complete: 404 if the index does not exist. For handlers. */
bool index_commit(struct request *request);

/* Finds the index of this name if the caller may see it. Handlers that wait
 * call it in each view, since another index may have been declared under the
 * name meanwhile. Inside a view. */
bool index_find(const struct request *request, struct kx_slice name,
                struct kx_index_info *info_out);

/* Appends the index as JSON to the reply's body and sets *state_out, or if
 * state_out is NULL also appends how much the index is used. Returns false if
 * no index has the name. */
bool index_append(struct request *request, struct reply *reply,
                  struct kx_slice name, enum kx_index_state *state_out);

#endif
