/* The body of a request, by its media type. Values may have any type and JSON
 * is only one of them; documents that the service interprets must be JSON.
 * Every function returns false with an error: PROBLEM_UNSUPPORTED_MEDIA_TYPE
 * (415: also for a Content-Encoding, RFC 9110 section 15.5.16),
 * PROBLEM_BAD_JSON or PROBLEM_JSON_TOO_DEEP (400). */
#ifndef API_BODY_H
#define API_BODY_H

#include "http/input_error.h"

/* Reads the body of a PUT as a value: application/json, no media type, or the
 * default type of curl -d is JSON, which is checked;
 * application/vnd.kindex.typed+json is a typed value (else PROBLEM_BAD_VALUE);
 * everything else is bytes with that media type. The value's slices lie in the
 * request: in its body, its headers or its memory. */
bool body_value(const struct request *request, struct kx_value *value_out,
                struct input_error *error);

/* Is the body a list of operations (RFC 6902) by its media type? */
bool body_is_json_patch(const struct request *request);

/* Checks that the body is a merge patch (RFC 7396): JSON, also as
 * application/merge-patch+json; or application/json-patch+json. value_out is
 * then the patch, a slice of the body; applying it is the core's work. */
bool body_patch(const struct request *request, struct kx_value *value_out,
                struct input_error *error);

/* The same without application/json-patch+json. */
bool body_merge_patch(const struct request *request, struct kx_value *value_out,
                      struct input_error *error);

/* The reply to a PATCH whose body was refused: with Accept-Patch if it is about
 * the media type (RFC 5789 section 2.2). */
void body_refuse_patch(struct request *request, struct reply *reply,
                       const struct input_error *error);

/* Checks that the body is JSON that the service interprets. Afterwards the
 * kx_json functions may be used on request->body. */
bool body_json(const struct request *request, struct input_error *error);

/* The same for a document with values in it, which may be deeper than a value.
 * *deep_out: it is deeper than KX_JSON_DEPTH_MAX, so each value has yet to be
 * checked. */
bool body_document(const struct request *request, bool *deep_out,
                   struct input_error *error);

/* Checks that the body is NDJSON by its media type: application/x-ndjson, none,
 * or the default of curl. Its lines are not checked. */
bool body_lines(const struct request *request, struct input_error *error);

#endif
