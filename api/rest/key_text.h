/* Keys as texts in requests: a JSON array of parts (in bodies, and as ?key=,
 * ?prefix= and so on), as kx_key_from_json reads it, or a path with one segment
 * for each part:
 *
 *   ada%20l       string (any text that does not begin with '=')
 *   =42  =-0  =Infinity  =NaN  =-NaN     number
 *   =42n          bigint
 *   =true         boolean
 *   =b64:AQID  =hex:010203        bytes
 *   =%22..%22     quoted string: for "", ".", ".." or any other
 *
 * Nothing is guessed: 42 is a string. '+' is a plus. */
#ifndef API_KEY_TEXT_H
#define API_KEY_TEXT_H

#include "http/input_error.h"

/* Appends the encoded parts of a raw path ("users/=42", without a leading '/').
 * Returns false with PROBLEM_BAD_KEY or PROBLEM_KEY_NUMBER_INEXACT, or if
 * memory ran out; the key may then hold some of the parts. The length is not
 * checked. */
bool key_text_from_path(struct kx_slice path, struct kx_buffer *key,
                        struct input_error *error);

/* Appends the canonical path of an encoded key, from which key_text_from_path
 * makes the same key. */
void key_text_to_path(struct kx_slice key, struct kx_buffer *out);

/* Appends the encoded parts of a JSON array, which kx_json_check accepted.
 * The error's pointer is relative to the array. After an error the key may hold
 * some of the parts. */
bool key_text_from_json(struct kx_slice array, struct kx_buffer *key,
                        struct input_error *error);

/* Reads the key of an entry, like key_text_from_json, into memory. A key
 * without parts is PROBLEM_BAD_KEY; it may also be PROBLEM_KEY_TOO_LONG. */
bool key_text_entry_from_json(struct kx_slice array, const void *memory,
                              struct kx_slice *key_out,
                              struct input_error *error);

/* Reads unchecked text like key_text_from_json. Further errors:
 * PROBLEM_BAD_JSON and PROBLEM_JSON_TOO_DEEP. */
bool key_text_from_any_json(struct kx_slice text, struct kx_buffer *key,
                            struct input_error *error);

#endif
