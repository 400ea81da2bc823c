/* V8 values in the form of kv-utils (kindex/value.h describes it). */
#ifndef V8_TYPED_H
#define V8_TYPED_H

#include "kindex.h"

/* Appends the typed form. KX_ABSENT when the value has none, or is nested too
 * deeply for JSON; KX_BAD_VALUE; KX_NO_MEMORY: nothing is appended then. */
enum kx_status v8_typed_write(struct kx_slice bytes, struct kx_buffer *out);

/* V8's letter for the name of a typed array ("Uint8Array"); 0 for another name.
 */
uint8_t v8_view_type(struct kx_slice name);

/* V8's letter for the name of an error ("TypeError"), 0 for "Error"; false for
 * another name. */
bool v8_error_letter(struct kx_slice name, uint8_t *letter_out);

/* The flags of a RegExp, in the order in which they are written; the bit that
 * stands for each is its place in this text. */
extern const char v8_flags[];

#endif
