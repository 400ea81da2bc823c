/* Keys that clients write as JSON arrays of parts, with the flaws in them: in
 * bodies, and as ?key=, ?prefix= and so on. The form is kx_key_from_json's; the
 * other form of a key, in a path, is key_path.h's. */
#ifndef API_KEYJSON_H
#define API_KEYJSON_H

#include "http/input_error.h"

/* Appends the encoded parts of a JSON array, which kx_json_check accepted.
 * flaw's pointer is relative to the array. On a flaw the key may hold some of
 * the parts. */
bool keyjson_read(struct kx_slice array, struct kx_buffer *key,
                  struct input_error *flaw);

/* The same for the key of an entry, which lies in memory of its own: also
 * PROBLEM_BAD_KEY for one without parts, and PROBLEM_KEY_TOO_LONG. */
bool keyjson_read_entry(struct kx_slice array, const void *memory,
                        struct kx_slice *key_out, struct input_error *flaw);

/* The same as the first for a text that nobody has checked. Also
 * PROBLEM_BAD_JSON and PROBLEM_JSON_TOO_DEEP. */
bool keyjson_read_text(struct kx_slice text, struct kx_buffer *key,
                       struct input_error *flaw);

#endif
