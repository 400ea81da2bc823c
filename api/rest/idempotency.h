/* Idempotency-Key: a write that may come again (the IETF's draft
 * draft-ietf-httpapi-idempotency-key-header). A client that does not know what
 * became of a request sends the same again under the same key, and gets the
 * first answer. The core keeps outcomes by a struct kx_retry of the commit. */
#ifndef API_IDEMPOTENCY_H
#define API_IDEMPOTENCY_H

#include "http/input_error.h"

enum { IDEMPOTENCY_KEY_MAX = 255 /* bytes, without quotes */ };

/* Sets request->commit.retry if the request has the header. It has to follow
 * the body's checks, and commit.dry: it computes a digest of the whole request.
 * The key is valid for the caller's access token alone. False with an error:
 * PROBLEM_BAD_REQUEST when the header has no key, or when the commit is dry. */
bool idempotency_read(struct request *request, struct input_error *error);

#endif
