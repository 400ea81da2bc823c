/* Functions that the access*.c files share. Threads: as in access.h. */
#ifndef API_ACCESS_STATE_H
#define API_ACCESS_STATE_H

#include "access/access.h"
#include "http/problem.h"

/* The core's bit for a scope; 0: none. */
unsigned access_bit(enum scope scope);

/* The reply becomes a 403 that names the scope and, if key is not NULL, the
 * prefix that was needed, or the index. Returns false. */
bool access_refuse_key(struct request *request, struct reply *reply,
                       enum scope scope, const struct kx_slice *key);
bool access_refuse_index(struct request *request, struct reply *reply,
                         enum scope scope, struct kx_slice name);

/* May the caller do this with all keys that begin with these parts? Unlike
 * access_key it does not check whether they belong to an index. False: reply is
 * then complete (403). */
bool access_prefix(struct request *request, struct reply *reply,
                   enum scope scope, struct kx_slice prefix);

/* Does the key belong to an index? Not inside a view. True also when there is
 * no memory to find out. */
bool access_key_of_index(const struct request *request, struct kx_slice key);

/* Counts a request of the token; false when the minute has had too many. */
bool access_count(struct request *request, struct reply *reply);
/* Adds the headers with the number of requests left, when it is low. */
void access_quota(struct request *request, struct reply *reply);

/* Counts a reply that is a stream; makes it a 429 when there are too many. */
void access_stream(struct request *request, struct reply *reply);
void access_end_stream(struct request *request);

#endif
