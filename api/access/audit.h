/* Audit lines of the log: one for each request that changes indexes, tokens or
 * the service, one before it for each index that a set of declarations changes,
 * and one for each denied request. They have the ids of tokens,
 * never their secrets; digests of keys, by which equal keys can be recognised;
 * and no values. The loop's thread. */
#ifndef API_AUDIT_H
#define API_AUDIT_H

#include "http/request.h"

/* Writes the line of a request with its status, which tells whether it was
 * carried out. */
void audit_action(struct request *request, int status);

/* Writes the line of one of several indexes that a request has changed. */
void audit_index(struct request *request, struct kx_slice name,
                 const char *change);

/* Writes the line of a denied request. key: the key on which the caller has no
 * right, or NULL. When there are very many in one second only their number is
 * logged. */
void audit_denial(struct request *request, int status,
                  const struct kx_slice *key);

#endif
