/* Access tokens as JSON:
 *
 * {"name":"app","grants":[{"scopes":["read","list"],"prefix":["users"]}],
 *  "ttl":"30d"} */
#ifndef API_TOKENS_H
#define API_TOKENS_H

#include "http/input_error.h"

/* Reads the document of POST /tokens, which kx_json_check accepted, into
 * token_out: name, grants and times, in memory. PROBLEM_BAD_REQUEST and others,
 * with a pointer. */
bool tokens_read(struct kx_slice document, void *memory,
                 struct kx_token *token_out, struct input_error *error);

/* Appends a token, without its digest; with its text when that is given. */
void tokens_write(const struct kx_token *token, const char *text,
                  struct kx_buffer *out);

#endif
