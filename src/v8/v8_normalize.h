/* V8 values in a form that every reader understands. */
#ifndef V8_NORMALIZE_H
#define V8_NORMALIZE_H

#include "kindex.h"

/* Does the value have a form that Deno does not know: a typed array as a host
 * object, or an error's cause in front of its other fields? KX_OK,
 * KX_BAD_VALUE, KX_NO_MEMORY. */
enum kx_status v8_is_foreign(struct kx_slice bytes, const void *memory,
                             bool *foreign_out);

/* Appends the value anew as V8 itself writes it, in version 15: typed arrays
 * with their buffers, an error's fields in the order of V8. Equal bytes are
 * equal values. KX_OK; KX_BAD_VALUE, KX_NO_MEMORY: nothing is appended. */
enum kx_status v8_normalize(struct kx_slice bytes, struct kx_buffer *out);

#endif
