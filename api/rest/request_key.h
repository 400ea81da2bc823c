/* The key of a request: in its path, or in ?key= as a JSON array, never in
 * both. The path is convenient to type; ?key= is for programs that have the key
 * as data, and for keys that are awkward in a path. */
#ifndef API_REQUEST_KEY_H
#define API_REQUEST_KEY_H

#include "rest/query_params.h"

/* Reads the query (the set `allowed`, plus key) and appends the key's parts. A
 * path without a key and without ?key= gives an empty key. False with the error
 * of query_params_read, key_text_from_path or key_text_from_any_json, or
 * PROBLEM_BAD_PARAMETER for a key in both places. */
bool request_key_read(const struct request *request, unsigned allowed,
                      struct query_params *query_out, struct kx_buffer *key,
                      struct input_error *error);

/* The same for a key that must have at least one part (PROBLEM_BAD_KEY) and be
 * short enough to be written (PROBLEM_KEY_TOO_LONG). */
bool request_key(const struct request *request, unsigned allowed,
                 struct query_params *query_out, struct kx_buffer *key,
                 struct input_error *error);

/* The decoded name of an index in the path, in the request's memory. False with
 * PROBLEM_BAD_REQUEST. */
bool request_key_index(const struct request *request, struct kx_buffer *name,
                       struct input_error *error);

/* Adds a header with the address of the entry with the key ("/kv/" and the
 * canonical path), in the request's memory. Without memory reply->body.failed
 * is set. */
void request_key_header(struct request *request, struct reply *reply,
                        const char *name, struct kx_slice key);

#endif
