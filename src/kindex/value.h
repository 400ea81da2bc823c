/* Values of entries, and their forms in JSON and in JavaScript. */
#ifndef KINDEX_VALUE_H
#define KINDEX_VALUE_H

#include "kindex/bytes.h"
#include "kindex/status.h"

enum kx_encoding {
    KX_JSON = 1,   /* JSON text */
    KX_V8 = 2,     /* V8 serialisation, as Deno stores it */
    KX_LE64 = 3,   /* KvU64: 8 bytes, little endian */
    KX_BYTES = 4,  /* bytes with a media type */
    KX_POINTER = 5 /* index entry that stores only a pointer: data is the
                    * encoded parts of the primary key after the index's
                    * prefix. Never written by clients; shown to them as the
                    * part, or as the array of parts when there are several. */
};

/* A value: bytes, kept exactly as they were given, and their encoding. */
struct kx_value {
    enum kx_encoding encoding;
    struct kx_slice data;
    struct kx_slice media_type; /* for KX_BYTES, else empty */
};

/* A value that JSON cannot carry is shown in the typed form of Deno's kv-utils:
 * {"type":"Date","value":"2023-04-23T00:00:00.123Z"}. There are the types
 * string, number, boolean, null, undefined, bigint, Date, RegExp, Map, Set,
 * Array, object, Error and its six kinds, ArrayBuffer, DataView, the typed
 * arrays and KvU64. Kindex adds hole (in an array), the members byteLength,
 * mediaType, maxByteLength (of an ArrayBuffer) and utf16 (of a string with lone
 * surrogates), and V8: the bytes of a value that has none of these forms (one
 * that contains itself, a Blob, new Number(1), or is nested too deeply). */

/* Appends a value as JSON. True: it is plain JSON; false: it is typed, or
 * memory ran out (out->failed). The text passes kx_json_check and reads back as
 * the same value, except for a KX_POINTER. */
bool kx_value_to_json(const struct kx_value *value, struct kx_buffer *out);

/* Reads a typed value, which kx_json_check accepted, into the encoding that
 * fits: KX_LE64, KX_BYTES, KX_JSON when JSON can carry it, else KX_V8. The
 * slices lie in buffers made in memory. KX_BAD_VALUE, KX_NO_MEMORY. */
enum kx_status kx_value_from_typed(struct kx_slice json, const void *memory,
                                   struct kx_value *value_out,
                                   struct kx_fault *fault);

/* True if the value can be the operand of a sum: a JSON number, a KvU64, a V8
 * number, or a V8 bigint of at most KX_V8_BIGINT_MAX bytes. memory: for
 * scratch. */
bool kx_value_is_number(const struct kx_value *value, const void *memory);

/* Checks that the bytes are exactly one value as V8 serializes it (versions 13
 * to 16), with every length correct and nothing after it. KX_OK; KX_BAD_VALUE,
 * with the place and the reason in fault; KX_NO_MEMORY. memory: a talloc
 * context for scratch. Every KX_V8 value from outside passes this check once.
 */
enum kx_status kx_v8_check(struct kx_slice bytes, const void *memory,
                           struct kx_fault *fault);

/* Appends the JSON text of a V8 value. KX_OK; KX_ABSENT: JSON cannot carry the
 * value (nothing is appended); KX_BAD_VALUE; KX_NO_MEMORY. */
enum kx_status kx_v8_to_json(struct kx_slice bytes, struct kx_buffer *out);
/* Appends the JSON in which an index finds the members of a V8 value that
 * kx_v8_check accepted. Parts that JSON cannot carry become null or are omitted
 * (see v8_json.h). For values that kx_value_to_json shows as V8. Without memory
 * out->failed is set. */
void kx_v8_members(struct kx_slice bytes, struct kx_buffer *out);
/* Appends the V8 serialization (version 15) of a text that kx_json_check
 * accepted: byte for byte what V8 writes for JSON.parse(text). Without memory
 * out->failed is set. */
void kx_v8_from_json(struct kx_slice json, struct kx_buffer *out);

/* The program that reads a V8 value. */
enum kx_v8_reader {
    KX_V8_FOR_ANY, /* Deno, or unknown: typed arrays in V8's own form */
    KX_V8_FOR_NODE /* Node knows its own host objects, such as Buffer */
};

/* Converts a value for a JavaScript program. *value_out is KX_LE64, KX_BYTES,
 * or KX_V8 in a form that the reader understands: JSON and pointers are
 * transcoded, a newer version becomes 15, and Node's typed arrays and the order
 * of an error's fields are rewritten where the reader does not know them. The
 * slices point into the value or into out, to which new bytes are appended.
 * KX_OK, KX_NO_MEMORY. */
enum kx_status kx_value_for_js(const struct kx_value *value,
                               enum kx_v8_reader reader, struct kx_buffer *out,
                               struct kx_value *value_out);

#endif
