/* Lines of the log for those who want to know later who did what: one for each
 * request that changes indexes, tokens or the service, and one for each that
 * was denied. They have ids of tokens, never their secrets; of keys a digest,
 * by which equal ones can be recognised; and nothing of values. */
#ifndef API_AUDIT_H
#define API_AUDIT_H

#include "http/request.h"

/* The request was carried out, or not, as its status says. */
void audit_action(struct request *request, int status);

/* It was not let in. key: what the caller has no right on, or NULL. When there
 * are very many in one second only their number is logged. */
void audit_denial(struct request *request, int status,
                  const struct kx_slice *key);

#endif
