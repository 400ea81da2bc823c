/* What the handlers of /indexes/{name} and of what lies below it share. */
#ifndef API_INDEXES_H
#define API_INDEXES_H

#include "flaw.h"

/* The decoded name in the path, in the request's memory. PROBLEM_BAD_REQUEST.
 */
bool index_name(const struct request *request, struct kx_buffer *name,
                struct flaw *flaw);

/* The reply becomes a 404 for an index of this name: DONE. */
enum progress index_missing(struct request *request, struct reply *reply,
                            struct kx_slice name);

#endif
