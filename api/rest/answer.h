/* Replies that several handlers give, so that an entry, a missing entry and a
 * failed precondition look the same on every path. If memory runs out these
 * functions set reply->body.failed, which becomes 503, so callers need not
 * check.
 */
#ifndef API_ANSWER_H
#define API_ANSWER_H

#include "rest/entryjson.h"
#include "http/request.h"

/* Answers 200 with the entry's value, or only the given fields of it, its ETag
 * unless it is reduced, and Kindex-Expires-At if it expires. If a condition of
 * the request fails, the reply is 412 (If-Match) or 304 without a body
 * (If-None-Match, RFC 9110 section 13.1). The entry's bytes are copied. */
void answer_entry(struct request *request, struct reply *reply,
                  const struct kx_entry *entry,
                  const struct projection *fields);

/* Answers 200 like answer_entry, but ignores the request's conditions, which a
 * write has checked in its commit. */
void answer_value(struct request *request, struct reply *reply,
                  const struct kx_entry *entry,
                  const struct projection *fields);

/* Adds the ETag header of a versionstamp. */
void answer_etag(struct reply *reply, uint64_t stamp);

/* Answers 412 precondition-failed with the current versionstamp of the entry
 * (0: there is no entry), so that a client can retry without a GET. */
void answer_precondition(struct request *request, struct reply *reply,
                         const struct kx_check *failed, uint64_t stamp);

/* Returns the key as JSON, for a sentence, in the request's memory; "" if that
 * runs out. */
const char *answer_key_text(const struct request *request, struct kx_slice key);

/* Begins a reply with a JSON body, which the caller appends to reply->body. A
 * later problem replaces both. */
void answer_json(struct reply *reply, int status);

#endif
