/* JSON Pointers (RFC 6901): their reference tokens, and the values that they
 * lead to. */
#ifndef JSON_FIND_H
#define JSON_FIND_H

#include "base/charge.h"
#include "kindex.h"

/* Takes the first reference token, with ~0 and ~1 as they are, from a pointer
 * that is not empty. */
struct kx_slice json_pointer_take(struct kx_slice *pointer);

/* Appends a reference token as the name of a member, with quotes and a colon.
 * At most KX_POINTER_MAX bytes of it are written. */
void json_pointer_add_name(struct kx_slice token, struct kx_buffer *out);

/* Finds a value as kx_json_find does, and charges for the bytes passed: those
 * up to the end of the value, or the whole text if there is no such value, once
 * for each token. charge NULL: not counted. */
bool json_pointer_find(struct kx_slice text, struct kx_slice pointer,
                       struct charge *charge, struct kx_slice *value_out);

/* Writes the pointer of the member or element that has the byte `at` of a
 * checked text in its name or value, with a NUL, to out, which has `room` bytes
 * (at least 1). A pointer that does not fit is that of the innermost value
 * around it that fits. */
void json_pointer_write(struct kx_slice text, const uint8_t *at, char *out,
                        size_t room);

#endif
