/* The body of a request, by its media type. A value may have any type; a
 * document that the service interprets must be JSON. Functions with an error
 * return false for PROBLEM_UNSUPPORTED_MEDIA_TYPE (415), PROBLEM_BAD_JSON or
 * PROBLEM_JSON_TOO_DEEP (400). */
#ifndef API_BODY_H
#define API_BODY_H

#include "http/input_error.h"

/* Reads the body of a PUT as a value: application/json, no media type, or the
 * default type of curl -d is JSON, which is checked;
 * application/vnd.kindex.typed+json is a typed value (PROBLEM_BAD_VALUE if it
 * is not valid); all other types are bytes. The value's slices lie in the body,
 * the headers or the memory of the request. */
bool body_value(const struct request *request, struct kx_value *value_out,
                struct input_error *error);

/* True if the media type is that of a list of operations (RFC 6902). */
bool body_is_json_patch(const struct request *request);

/* Checks that the body is a patch: a merge patch (RFC 7396), as JSON or
 * application/merge-patch+json, or application/json-patch+json. *value_out is
 * the patch, a slice of the body, which the store applies. */
bool body_patch(const struct request *request, struct kx_value *value_out,
                struct input_error *error);

/* Checks that the body is a merge patch. */
bool body_merge_patch(const struct request *request, struct kx_value *value_out,
                      struct input_error *error);

/* Answers a PATCH with a bad body, with Accept-Patch if the media type is bad
 * (RFC 5789 section 2.2). */
void body_refuse_patch(struct request *request, struct reply *reply,
                       const struct input_error *error);

/* Checks that the body is JSON. Afterwards the kx_json functions may be used on
 * request->body. */
bool body_json(const struct request *request, struct input_error *error);

/* Checks a document that contains values, so it may be deeper than a value. If
 * *deep_out is set, it is deeper than KX_JSON_DEPTH_MAX, and the caller must
 * check each value. */
bool body_document(const struct request *request, bool *deep_out,
                   struct input_error *error);

/* Checks that the media type is that of NDJSON: application/x-ndjson, none, or
 * the default of curl. The lines are not checked. */
bool body_lines(const struct request *request, struct input_error *error);

#endif
