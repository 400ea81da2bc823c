/* If-Match and If-None-Match (RFC 9110 section 13) as checks. An ETag is the
 * entry's versionstamp in quotes. Weak forms are accepted too, because proxies
 * that compress make them; a tag of another form matches nothing. Reads apply
 * the checks themselves; writes hand them to the core with the commit, so that
 * no other write can come between check and write. */
#ifndef API_CONDITIONS_H
#define API_CONDITIONS_H

#include "http/input_error.h"

/* If both headers are given, both must hold. */
struct conditions {
    struct kx_check *checks; /* at most two; NULL without conditions */
    size_t count;
    bool unclear; /* If-None-Match has text that is not a tag, or `"*"`: its
                   * meaning is unknown */
};

/* Reads both headers (NULL: absent) into checks on key, If-Match first, as
 * section 13.2.2 has it. The checks and their stamps lie in memory (a talloc
 * context); key is kept as a slice. False when memory runs out; there are no
 * errors otherwise. A write must not be done when it is unclear. */
bool conditions_read(const char *if_match, const char *if_none_match,
                     struct kx_slice key, const void *memory,
                     struct conditions *conditions_out);

/* For requests that are not about a single entry: false with
 * PROBLEM_BAD_REQUEST when one of the headers is given. */
bool conditions_none(const struct request *request, struct input_error *error);

/* Writes the ETag of a versionstamp with quotes and NUL: ETAG_SIZE + 1. */
void etag_write(uint64_t stamp, char *out);

#endif
