/* Reads keys that clients write as JSON arrays of parts: in bodies, and as
 * ?key=, ?prefix= and so on. kx_key_from_json defines the form; key_path.h has
 * the form of keys in paths. */
#ifndef API_KEYJSON_H
#define API_KEYJSON_H

#include "http/input_error.h"

/* Appends the encoded parts of a JSON array, which kx_json_check accepted.
 * The error's pointer is relative to the array. After an error the key may hold
 * some of the parts. */
bool keyjson_read(struct kx_slice array, struct kx_buffer *key,
                  struct input_error *flaw);

/* The same for the key of an entry, which is allocated in memory. Further
 * errors: PROBLEM_BAD_KEY for a key without parts, and PROBLEM_KEY_TOO_LONG. */
bool keyjson_read_entry(struct kx_slice array, const void *memory,
                        struct kx_slice *key_out, struct input_error *flaw);

/* The same as keyjson_read for a text that was not checked before. Further
 * errors: PROBLEM_BAD_JSON and PROBLEM_JSON_TOO_DEEP. */
bool keyjson_read_text(struct kx_slice text, struct kx_buffer *key,
                       struct input_error *flaw);

#endif
