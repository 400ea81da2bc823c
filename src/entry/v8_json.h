/* The JSON in which indexes find the fields of a V8 value. */
#ifndef V8_JSON_H
#define V8_JSON_H

#include "kindex.h"

/* Appends a V8 value as JSON for indexes. A Date is its number of milliseconds,
 * a Set an array of its elements, an object around a primitive value that
 * value. A bigint, a Uint8Array and a number that is not finite are written as
 * parts of a key ({"type":"bigint","value":"12"}). An undefined member is
 * omitted. Everything else that JSON cannot express is null. A reference that
 * would make the text much longer than 32 times the value is null, and so is
 * each reference after it. Elements of a sparse array after too many holes are
 * omitted. KX_OK, KX_BAD_VALUE, KX_NO_MEMORY. *plain_out is true only if the
 * text is the value as kx_v8_to_json shows it. */
enum kx_status v8_fields(struct kx_slice bytes, struct kx_buffer *out,
                         bool *plain_out);

#endif
