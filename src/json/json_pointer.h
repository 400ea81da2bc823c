/* The reference tokens of a JSON Pointer (RFC 6901), taken one by one. */
#ifndef JSON_POINTER_H
#define JSON_POINTER_H

#include "kindex.h"

/* Takes the first reference token, with ~0 and ~1 as they are, from a pointer
 * that is not empty. */
struct kx_slice json_pointer_take(struct kx_slice *pointer);

/* Appends a reference token as the name of a member, with quotes and a colon.
 * At most KX_POINTER_MAX bytes of it are written. */
void json_pointer_add_name(struct kx_slice token, struct kx_buffer *out);

#endif
