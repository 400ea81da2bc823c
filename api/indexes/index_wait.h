/* Waits until the state of an index is stable: until the index is neither built
 * nor migrated. A wait holds no thread; the store wakes it when an index
 * changes (kx_index_change_wait). */
#ifndef API_INDEX_WAIT_H
#define API_INDEX_WAIT_H

#include "http/request.h"

/* Appends the index to the reply's body. If the request has Prefer: wait=N,
 * waits until the state is stable first, and says so in the reply. If state_out
 * is NULL also appends how much the index is used. The caller sets the status.
 * On false the reply is complete. For handlers. */
bool index_await(struct request *request, struct reply *reply,
                 struct kx_slice name, enum kx_index_state *state_out);

/* Returns a stream of server-sent events: the index now and after each change,
 * until its state is stable or it is dropped; with an empty name all indexes
 * that the caller may see, without an end. The stream lies in the request's
 * memory; NULL if that ran out. */
struct stream *index_events(struct request *request, struct kx_slice name);

#endif
