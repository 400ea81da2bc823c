/* Replies that several handlers give, so that an entry, a missing one and a
 * failed precondition look the same whatever the path was. Where memory runs
 * out they set reply->body.failed, which the exchange turns into 503 at the
 * end: no caller has to check. */
#ifndef API_ANSWER_H
#define API_ANSWER_H

#include "rest/projection.h"
#include "http/request.h"

/* 200 with the entry's value (or of it the fields, if there are any) as the
 * body and its ETag, under the request's conditions: If-Match that fails is
 * 412, If-None-Match that fails 304 without a body (RFC 9110 section 13.1). The
 * entry's bytes are copied, so it need not outlive the call. Returns DONE. */
enum progress answer_entry(struct request *request, struct reply *reply,
                           const struct kx_entry *entry,
                           const struct projection *fields);

/* Adds the ETag header of a versionstamp, in the request's memory. */
void answer_etag(struct request *request, struct reply *reply, uint64_t stamp);

/* 412 precondition-failed, with the versionstamp that the entry has (0: there
 * is none), so that a client can go on without another GET. Returns DONE. */
enum progress answer_precondition(struct request *request, struct reply *reply,
                                  const struct kx_check *failed,
                                  uint64_t stamp);

/* 404 key-not-found, with the key as JSON in the detail: its types tell 42 from
 * "42". Where there are entries under the key, `listedAt` is where the caller
 * finds them. Not inside a view. Returns DONE. */
enum progress answer_absent(struct request *request, struct reply *reply,
                            struct kx_slice key);

/* Begins a reply with a JSON body, which the caller appends to reply->body. A
 * problem made afterwards replaces both. */
void answer_json(struct reply *reply, int status);

#endif
