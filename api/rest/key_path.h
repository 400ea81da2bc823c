/* Keys in URLs: one path segment for each part.
 *
 *   ada%20l       string (any text that does not begin with '=')
 *   =42  =-0  =Infinity  =NaN     number
 *   =42n          bigint
 *   =true         boolean
 *   =b64:AQID  =hex:010203        bytes
 *   =%22..%22     quoted string: for "", ".", ".." or any other
 *
 * Nothing is guessed: 42 is a string. '+' is a plus. */
#ifndef API_PATH_H
#define API_PATH_H

#include "http/input_error.h"

/* Appends the encoded parts of a raw path ("users/=42", without a leading '/').
 * False with PROBLEM_BAD_KEY, PROBLEM_KEY_NUMBER_INEXACT, or when memory ran
 * out; the key may then hold some of the parts. Its length is not checked
 * here. */
bool key_path_read(struct kx_slice path, struct kx_buffer *key,
                   struct input_error *flaw);

/* Appends the canonical path of an encoded key, from which key_path_read makes
 * the same key. */
void key_path_write(struct kx_slice key, struct kx_buffer *out);

#endif
