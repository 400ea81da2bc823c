/* The view of a V8 value in which indexes look for their fields. */
#ifndef V8_JSON_H
#define V8_JSON_H

#include "kindex.h"

/* What a token of bytes begins with. */
enum { V8_FIELD_BYTES = '~' };

/* Appends a V8 value as text for kx_json_find, kx_json_type and kx_json_iterate
 * (and not for clients): JSON, in which a Date is its number of milliseconds, a
 * Set an array of its elements, an undefined member is left out, and everything
 * else that JSON lacks is null, but for tokens of the type KX_JSON_NUMBER
 * that are none to kx_number_parse: 12n is a bigint, ~AQID a Uint8Array in
 * base64url, and NaN, Infinity and -Infinity are those numbers. KX_OK;
 * KX_ABSENT when references make the text too long; KX_BAD_VALUE;
 * KX_NO_MEMORY. */
enum kx_status v8_fields(struct kx_slice bytes, struct kx_buffer *out);

#endif
