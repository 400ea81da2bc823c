/* Audit lines of the log: one for each request that changes indexes, tokens or
 * the service, preceded by one for each index that a set of declarations
 * changes, and one for each denied request. They have the ids of tokens but not
 * their secrets, digests of keys (equal keys have equal digests), and no
 * values. The loop's thread. */
#ifndef API_AUDIT_H
#define API_AUDIT_H

#include "http/request.h"

/* Writes the line of a request with its HTTP status. */
void audit_action(struct request *request, int status);

/* Writes a line for one of several indexes that a request has changed. */
void audit_index(struct request *request, struct kx_slice name,
                 const char *change);

/* Writes the line of a denied request. key is the key for which the caller
 * lacks the right, or NULL. If a second has too many denials, only their number
 * is logged. */
void audit_denial(struct request *request, int status,
                  const struct kx_slice *key);

#endif
