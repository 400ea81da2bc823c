/* The headers that make a request conditional or safe to retry. If-Match and
 * If-None-Match (RFC 9110 section 13) become checks. An ETag is the entry's
 * versionstamp in quotes; a weak tag is accepted, too, because proxies that
 * compress make such tags; any other tag matches nothing. A read compares the
 * checks itself; a write passes them to the store with its commit, so that no
 * other write comes between check and write.
 *
 * Idempotency-Key (the IETF's draft-ietf-httpapi-idempotency-key-header) lets a
 * client that lost an answer send the request again: the first answer is
 * returned, and nothing is written twice. The store keeps the outcome by the
 * struct kx_idempotency of the commit. */
#ifndef API_CONDITIONS_H
#define API_CONDITIONS_H

#include "http/input_error.h"

/* If both headers are given, both must hold. */
struct conditions {
    struct kx_check *checks; /* at most two; NULL without conditions */
    size_t count;
    bool unclear; /* If-None-Match has text that is not a tag, or `"*"`: do not
                   * write */
};

/* Reads both headers (NULL: absent) into checks of the key, If-Match first
 * (section 13.2.2). The checks and their stamps are allocated in memory, a
 * talloc context; they refer to the bytes of the key. Returns false only if
 * memory ran out. */
bool conditions_read(const char *if_match, const char *if_none_match,
                     struct kx_slice key, const void *memory,
                     struct conditions *conditions_out);

/* For requests that do not concern a single entry: returns false with
 * PROBLEM_BAD_REQUEST if one of the headers is given. */
bool conditions_none(const struct request *request, struct input_error *error);

/* Writes the ETag of a versionstamp with its quotes and a NUL: ETAG_SIZE + 1
 * bytes. */
void etag_write(uint64_t stamp, char *out);

enum { IDEMPOTENCY_KEY_MAX = 255 /* bytes, without quotes */ };

/* Sets request->commit.idempotency if the request has an Idempotency-Key, which
 * is valid for the caller's access token only. Call it last, after commit.dry
 * is set and the body is checked, since it computes a digest of the whole
 * request. Returns false with PROBLEM_BAD_REQUEST if the header has no key or
 * the commit is dry. */
bool idempotency_read(struct request *request, struct input_error *error);

#endif
