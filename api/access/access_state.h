/* What the access files share. */
#ifndef API_ACCESS_STATE_H
#define API_ACCESS_STATE_H

#include "access/access.h"
#include "http/problem.h"

/* The bit of the core that a scope stands for; 0: none. */
unsigned access_bit(enum scope scope);

/* The reply becomes a 403 that names the scope and, if key is not NULL, the
 * prefix that was needed, or the index. Returns false. */
bool access_refuse_key(struct request *request, struct reply *reply,
                       enum scope scope, const struct kx_slice *key);
bool access_refuse_index(struct request *request, struct reply *reply,
                         enum scope scope, struct kx_slice name);

/* May the caller do this with all that begins with the parts, whoever's they
 * are? Unlike access_key it does not ask for the entries behind the name of an
 * index. False: reply is then complete (403). */
bool access_prefix(struct request *request, struct reply *reply,
                   enum scope scope, struct kx_slice prefix);

/* Does the key belong to an index? Not inside a view. True also when there is
 * no memory to find out. */
bool access_key_of_index(const struct request *request, struct kx_slice key);

/* Counts a request of the token; false when the minute has had too many. */
bool access_count(struct request *request, struct reply *reply);
/* Adds the headers that say how many are left, when they are few. */
void access_quota(struct request *request, struct reply *reply);

/* Counts the stream that the reply is; makes it a 429 when there are too many.
 */
void access_stream(struct request *request, struct reply *reply);
void access_end_stream(struct request *request);

#endif
