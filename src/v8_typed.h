/* V8 values in the form of kv-utils (kindex/value.h describes it). */
#ifndef V8_TYPED_H
#define V8_TYPED_H

#include "kindex.h"

/* Appends the typed form. KX_ABSENT when the value has none, or is nested too
 * deeply for JSON; KX_BAD_VALUE; KX_NO_MEMORY: nothing is appended then. */
enum kx_status v8_typed_write(struct kx_slice bytes, struct kx_buffer *out);

/* The name of the typed arrays with V8's letter ("Uint8Array"), NULL for
 * another letter; and the other way round, 0 for another name. */
const char *v8_view_name(uint8_t type);
uint8_t v8_view_type(struct kx_slice name);

/* The name of an error with V8's letter ("TypeError", for 0 "Error"), and the
 * other way round: false for another name. */
const char *v8_error_name(uint8_t letter);
bool v8_error_letter(struct kx_slice name, uint8_t *letter_out);

/* The flags of a RegExp, in the order in which they are written; the bit that
 * stands for each is its place in this text. */
extern const char v8_flags[];

#endif
