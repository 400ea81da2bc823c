/* Conversion of JSON text to the V8 value being written. */
#ifndef V8_ENCODE_H
#define V8_ENCODE_H

#include "v8/v8_writer.h"

/* Writes any JSON value, or a string token as a string or a member's name.
 * kx_json_check must have accepted the text. */
void v8_encode(struct v8_writer *writer, struct kx_slice json);
void v8_encode_string(struct v8_writer *writer, struct kx_slice token);
void v8_encode_name(struct v8_writer *writer, struct kx_slice token);

/* The number of elements of an array or members of an object. */
uint32_t v8_count(struct kx_slice json);

#endif
