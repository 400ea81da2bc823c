/* Values that JSON cannot carry, in Deno's own kv-utils form:
 * {"type":"KvU64","value":"1"}. kindex/value.h says which there are;
 * entryjson.h decides which of the two members, value or typed, an entry has.
 */
#ifndef API_TYPED_H
#define API_TYPED_H

#include "http/input_error.h"

/* Reads a typed value, which kx_json_check accepted. The value's slices lie in
 * buffers made in memory. The code of an error is PROBLEM_BAD_VALUE. */
bool typed_read(struct kx_slice json, const void *memory,
                struct kx_value *value_out, struct input_error *flaw);

#endif
