/* Replies that several handlers give. */
#ifndef API_ANSWER_H
#define API_ANSWER_H

#include "request.h"

/* The entry's value as the body, with its ETag, under the request's If-Match
 * (412) and If-None-Match (304). Returns DONE. */
enum progress answer_entry(struct request *request, struct reply *reply,
                           const struct kx_entry *entry);

/* The ETag header of a versionstamp. */
void answer_etag(struct request *request, struct reply *reply, uint64_t stamp);

/* 412 precondition-failed; stamp is the entry's (0: there is none). */
enum progress answer_precondition(struct request *request, struct reply *reply,
                                  struct kx_slice key, uint64_t stamp);

/* 404 key-not-found. */
enum progress answer_absent(struct request *request, struct reply *reply,
                            struct kx_slice key);

/* Begins a reply with a JSON body. */
void answer_json(struct reply *reply, int status);

#endif
