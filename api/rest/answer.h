/* Replies that several handlers give, so that an entry, a missing entry and a
 * failed precondition look the same on every path. When memory runs out they
 * set reply->body.failed, which the exchange turns into 503, so no caller has
 * to check. */
#ifndef API_ANSWER_H
#define API_ANSWER_H

#include "rest/projection.h"
#include "http/request.h"

/* 200 with the entry's value, or only the given fields of it, its ETag unless
 * it is reduced, and its time of expiry (Kindex-Expires-At) if it has one. A
 * condition of the request that fails makes the reply 412 (If-Match) or 304
 * without a body (If-None-Match, RFC 9110 section 13.1). The entry's bytes are
 * copied, so it need not outlive the call. */
void answer_entry(struct request *request, struct reply *reply,
                  const struct kx_entry *entry,
                  const struct projection *fields);

/* The same 200 without regard to the request's conditions, which a write has
 * checked in its commit. */
void answer_value(struct request *request, struct reply *reply,
                  const struct kx_entry *entry,
                  const struct projection *fields);

/* Adds the ETag header of a versionstamp. */
void answer_etag(struct reply *reply, uint64_t stamp);

/* 412 precondition-failed, with the current versionstamp of the entry (0: there
 * is no entry), so that a client can repeat its request without a GET. */
void answer_precondition(struct request *request, struct reply *reply,
                         const struct kx_check *failed, uint64_t stamp);

/* The key as JSON, for a sentence, in the request's memory; "" when that runs
 * out. */
const char *answer_key_text(const struct request *request, struct kx_slice key);

/* Begins a reply with a JSON body, which the caller appends to reply->body. A
 * problem made afterwards replaces both. */
void answer_json(struct reply *reply, int status);

#endif
