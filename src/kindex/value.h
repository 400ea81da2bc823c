/* Values: what an entry holds, and its forms in JSON and in JavaScript. */
#ifndef KINDEX_VALUE_H
#define KINDEX_VALUE_H

#include "kindex/bytes.h"
#include "kindex/status.h"

enum kx_encoding {
    KX_JSON = 1,   /* JSON text */
    KX_V8 = 2,     /* V8 serialisation, as Deno stores it */
    KX_LE64 = 3,   /* KvU64: 8 bytes, little endian */
    KX_BYTES = 4,  /* bytes with a media type */
    KX_POINTER = 5 /* pointer index entry: data is the encoded parts of the
                    * primary key after the index's prefix. Never written by
                    * clients; a client is shown the part, or the array of
                    * parts when there are several. */
};

/* What an entry holds: bytes exactly as they were given, and how to read them.
 */
struct kx_value {
    enum kx_encoding encoding;
    struct kx_slice data;
    struct kx_slice media_type; /* of KX_BYTES, else empty */
};

/* What JSON cannot carry is shown typed, in the form of Deno's kv-utils:
 * {"type":"Date","value":"2023-04-23T00:00:00.123Z"}. There are the types
 * string, number, boolean, null, undefined, bigint, Date, RegExp, Map, Set,
 * Array, object, Error and its six kinds, ArrayBuffer, DataView, the typed
 * arrays and KvU64; of our own are hole (of an array), the members byteLength,
 * mediaType, maxByteLength (of an ArrayBuffer) and utf16 (of a string with half
 * surrogates), and V8: the bytes of a value that has none of these forms (one
 * that contains itself, a Blob, new Number(1), or is nested too deeply). */

/* Appends a value as JSON. True: it is plain JSON; false: it is typed, or
 * memory ran out (out->failed). What is written passes kx_json_check and is
 * read back as the same value, except for a pointer. */
bool kx_value_to_json(const struct kx_value *value, struct kx_buffer *out);

/* Reads a typed value, which kx_json_check accepted, into the encoding that
 * fits: KX_LE64, KX_BYTES, KX_JSON when JSON can carry it, else KX_V8. The
 * slices lie in buffers made in memory. KX_BAD_VALUE, KX_NO_MEMORY. */
enum kx_status kx_value_from_typed(struct kx_slice json, const void *memory,
                                   struct kx_value *value_out,
                                   struct kx_fault *fault);

/* Can the value be the operand of a sum: a JSON number, a KvU64, a number or a
 * bigint (of at most KX_V8_BIGINT_MAX bytes) of V8? memory: for scratch. */
bool kx_value_is_number(const struct kx_value *value, const void *memory);

/* Is this exactly one value as V8 serializes it (versions 13 to 16), with every
 * length right and nothing behind it? KX_BAD_VALUE says where and why not;
 * KX_NO_MEMORY. memory: a talloc context for scratch. Every value that comes
 * from outside as KX_V8 passes this once. */
enum kx_status kx_v8_check(struct kx_slice bytes, const void *memory,
                           struct kx_fault *fault);

/* Appends the JSON text of a V8 value. KX_OK; KX_ABSENT: JSON cannot carry the
 * value (nothing is appended); KX_BAD_VALUE; KX_NO_MEMORY. */
enum kx_status kx_v8_to_json(struct kx_slice bytes, struct kx_buffer *out);
/* Appends the JSON in which an index looks for the members of a V8 value, which
 * kx_v8_check accepted, whatever JSON can carry of it: what else there is is
 * null or left out (v8_json.h says how). For values that kx_value_to_json shows
 * as V8. Without memory out->failed is set. */
void kx_v8_members(struct kx_slice bytes, struct kx_buffer *out);
/* Appends the V8 serialization (version 15) of a text that kx_json_check
 * accepted, byte for byte what JavaScript makes of JSON.parse(text).
 * Without memory out->failed is set. */
void kx_v8_from_json(struct kx_slice json, struct kx_buffer *out);

/* Who reads a V8 value. */
enum kx_v8_reader {
    KX_V8_FOR_ANY, /* Deno, or unknown: typed arrays in V8's own form */
    KX_V8_FOR_NODE /* Node knows its own host objects, such as Buffer */
};

/* A value as a JavaScript program reads it: *value_out is KX_LE64, KX_BYTES, or
 * KX_V8 in a form that Deno and Node both understand, whoever wrote it: JSON
 * and pointers are transcoded, a newer version is made 15, Node's typed arrays
 * and the order of an error's fields are rewritten where the reader does not
 * know them. The slices point into the value or to what was appended to out.
 * KX_OK, KX_NO_MEMORY. */
enum kx_status kx_value_for_js(const struct kx_value *value,
                               enum kx_v8_reader reader, struct kx_buffer *out,
                               struct kx_value *value_out);

#endif
