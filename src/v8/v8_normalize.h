/* Conversion of V8 values to the form that every reader understands. */
#ifndef V8_NORMALIZE_H
#define V8_NORMALIZE_H

#include "kindex.h"

/* *foreign_out: true if the value has a form that Deno does not know, which is
 * a typed array as a host object, or an error's cause before its other fields.
 * KX_OK, KX_BAD_VALUE, KX_NO_MEMORY. */
enum kx_status v8_is_foreign(struct kx_slice bytes, const void *memory,
                             bool *foreign_out);

/* Appends the value as V8 itself writes it in version 15: typed arrays with
 * their buffers, an error's fields in V8's order. Equal bytes mean equal
 * values. KX_OK; KX_BAD_VALUE, KX_NO_MEMORY: nothing is appended. */
enum kx_status v8_normalize(struct kx_slice bytes, struct kx_buffer *out);

#endif
