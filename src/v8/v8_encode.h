/* JSON text into a V8 value under way. */
#ifndef V8_ENCODE_H
#define V8_ENCODE_H

#include "v8/v8_writer.h"

/* Writes any JSON value, or a string token as a string or a member's name. The
 * text passed kx_json_check. */
void v8_encode(struct v8_writer *writer, struct kx_slice json);
void v8_encode_string(struct v8_writer *writer, struct kx_slice token);
void v8_encode_name(struct v8_writer *writer, struct kx_slice token);

/* Elements or members of an array or object. */
uint32_t v8_count(struct kx_slice json);

#endif
