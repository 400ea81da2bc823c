/* V8 values in the typed form of kv-utils (kindex/value.h describes it). */
#ifndef V8_TYPED_H
#define V8_TYPED_H

#include "kindex.h"

/* Appends the typed form. KX_OK; KX_ABSENT if the value has none, or is nested
 * too deeply for JSON; KX_BAD_VALUE; KX_NO_MEMORY. On errors nothing is
 * appended. */
enum kx_status v8_typed_write(struct kx_slice bytes, struct kx_buffer *out);

/* V8's letter for the name of a typed array or DataView ("Uint8Array"); 0 for
 * other names. */
uint8_t v8_view_type(struct kx_slice name);

/* V8's letter for the name of an error ("TypeError"); 0 for "Error". False for
 * other names. */
bool v8_error_letter(struct kx_slice name, uint8_t *letter_out);

/* The letters of a RegExp's flags. The position of a letter is the number of
 * its bit; '?' is a bit without a letter. */
extern const char v8_flags[];

#endif
