/* Functions that the access*.c files share. All belong to the thread that has
 * the request. */
#ifndef API_ACCESS_STATE_H
#define API_ACCESS_STATE_H

#include "access/access.h"
#include "http/problem.h"

/* Returns the core's bit for a scope; 0 if it has none. */
unsigned access_bit(enum scope scope);

/* Makes reply a 403 that names the scope and, unless key is NULL, the prefix
 * for which it is needed. Returns false. */
bool access_refuse_key(struct request *request, struct reply *reply,
                       enum scope scope, const struct kx_slice *key);

/* True if the caller has the scope for all keys that begin with these parts.
 * Does not check whether they belong to an index. On false reply is complete
 * (403). */
bool access_prefix(struct request *request, struct reply *reply,
                   enum scope scope, struct kx_slice prefix);

/* True if the key belongs to an index, or if memory ran out while finding out.
 * Not inside a view. */
bool access_key_of_index(const struct request *request, struct kx_slice key);

/* Counts a request of the token. On false the token has had too many requests
 * in this minute, and reply is complete (429). */
bool access_count(struct request *request, struct reply *reply);

#endif
