/* Values that JSON cannot carry, in Deno's own kv-utils form:
 * {"type":"KvU64","value":"1"}. A plain JSON value is never wrapped. typed.c
 * reads them, typed_write.c writes them; entryjson.h decides which of the two
 * members, value or typed, an entry has. */
#ifndef API_TYPED_H
#define API_TYPED_H

#include "flaw.h"

/* Reads a typed value, which kx_json_check accepted. KvU64 becomes KX_LE64,
 * Uint8Array KX_BYTES (with the member mediaType, or
 * application/octet-stream); string, number, boolean, null, Array and object
 * become the JSON text that they describe. The value's slices lie in
 * buffers made in memory. flaw's code is PROBLEM_BAD_VALUE. */
bool typed_read(struct kx_slice json, const void *memory,
                struct kx_value *value_out, struct flaw *flaw);

/* Can the value be shown as plain JSON? */
bool typed_is_plain(const struct kx_value *value);

/* Appends the value as JSON: as it is when it is plain, else typed. */
void typed_write(const struct kx_value *value, struct kx_buffer *out);

#endif
