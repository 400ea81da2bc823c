/* The view of a V8 value in which indexes look for their fields. */
#ifndef V8_JSON_H
#define V8_JSON_H

#include "kindex.h"

/* Appends a V8 value as JSON in which a Date is its number of milliseconds, a
 * Set an array of its elements, an object around a primitive value that value,
 * a bigint, a Uint8Array and a number that is not finite what they are as parts
 * of a key in JSON ({"type":"bigint","value":"12"}); an undefined member is
 * left out, and everything else that JSON lacks is null. So are references from
 * the one on that would make the text much longer than 32 times the value;
 * elements of a sparse array behind too many holes are left out. KX_OK;
 * KX_BAD_VALUE; KX_NO_MEMORY. plain_out: true only if the text is the value as
 * kx_v8_to_json shows it. */
enum kx_status v8_fields(struct kx_slice bytes, struct kx_buffer *out,
                         bool *plain_out);

#endif
