/* Typed values to V8. */
#ifndef TYPED_V8_H
#define TYPED_V8_H

#include "kindex.h"

/* Appends a typed value as V8. KX_OK, KX_BAD_VALUE, KX_NO_MEMORY; on errors out
 * may have additional bytes. Scratch is allocated under its owner. */
enum kx_status typed_to_v8(struct kx_slice json, struct kx_buffer *out,
                           struct kx_fault *fault);

#endif
