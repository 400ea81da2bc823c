/* Waiting until the state of an index has settled: until it is not being built
 * or changed any more. What waits holds no thread; the core wakes it when there
 * is news (kx_news_wait). */
#ifndef API_INDEX_WAIT_H
#define API_INDEX_WAIT_H

#include "http/request.h"

/* Appends the index to the body of the reply; first waits until its state has
 * settled, if the request prefers that (Prefer: wait=N), and says so. The
 * reply's status is still the caller's to set. False: the reply is complete.
 * Without state_out it is also shown how much the index is used. For
 * handlers. */
bool index_await(struct request *request, struct reply *reply,
                 struct kx_slice name, enum kx_index_state *state_out);

/* A stream of server-sent events: the index now, and then after each change,
 * until its state has settled or it is gone; with an empty name all indexes
 * that the caller may see, without an end. Lives in the request's memory; NULL
 * when that ran out. */
struct stream *index_events(struct request *request, struct kx_slice name);

#endif
