/* Keys: sequences of typed parts, encoded so that byte order is the order of
 * the parts; and their form in JSON.
 */
#ifndef KINDEX_KEY_H
#define KINDEX_KEY_H

#include "kindex/bytes.h"
#include "kindex/limit.h"
#include "kindex/status.h"

/* In the order of their encodings: bytes < string < bigint < number <
 * false < true. Encoding: Deno KV's, a subset of FoundationDB's tuple layer. */
enum kx_part_type {
    KX_BYTES_PART,
    KX_STRING,
    KX_BIGINT,
    KX_NUMBER,
    KX_BOOLEAN
};

struct kx_part {
    enum kx_part_type type;
    struct kx_slice bytes; /* bytes; UTF-8 of a string; bigint magnitude, big
                            * endian, without leading zeros */
    bool negative;         /* of a bigint */
    bool boolean;
    double number;
};

/* Append the encoding of one part. KX_BAD_KEY when the part cannot be
 * encoded (invalid UTF-8, a magnitude over KX_BIGINT_MAX bytes); the buffer is
 * then unchanged. The length of the whole key is checked by kx_key_check. */
enum kx_status kx_key_add(struct kx_buffer *key, const struct kx_part *part);
enum kx_status kx_key_add_string(struct kx_buffer *key, struct kx_slice utf8);
enum kx_status kx_key_add_bytes(struct kx_buffer *key, struct kx_slice bytes);
enum kx_status kx_key_add_number(struct kx_buffer *key, double number);
enum kx_status kx_key_add_boolean(struct kx_buffer *key, bool boolean);
/* decimal: an optional '-' and digits. */
enum kx_status kx_key_add_bigint(struct kx_buffer *key,
                                 struct kx_slice decimal);

/* Decodes the parts of an encoded key, first to last. The key's bytes must stay
 * valid and in place during this. */
struct kx_key_reader {
    struct kx_slice rest;        /* the parts not yet decoded */
    uint8_t scratch[KX_KEY_MAX]; /* holds the last part where it had to be
                                  * unescaped or inverted */
};
/* Starts at the first part. */
void kx_key_read(struct kx_key_reader *reader, struct kx_slice key);
/* KX_OK and the next part (valid until the next call), KX_END after the last,
 * KX_BAD_KEY when the bytes are not a valid key. */
enum kx_status kx_key_next(struct kx_key_reader *reader,
                           struct kx_part *part_out);

/* Number of encoded bytes of the first part of rest; 0 when it is not valid. */
size_t kx_part_size(struct kx_slice rest);
/* Appends the name of the index to whose entries the key may belong: its first
 * part if that is a string, else nothing. */
void kx_key_index_name(struct kx_slice key, struct kx_buffer *out);
/* KX_OK for 1..KX_KEY_MAX bytes that are parts as kx_key_add writes them;
 * KX_BAD_KEY, KX_KEY_TOO_LONG otherwise. Another encoding of a part would be
 * the key of a second entry that has the same text. kx_key_next and
 * kx_part_size accept it, because an earlier program may have stored it. */
enum kx_status kx_key_check(struct kx_slice key, struct kx_fault *fault);
/* Appends a bigint part in decimal digits, with '-' when it is negative. */
void kx_bigint_decimal(const struct kx_part *part, struct kx_buffer *out);

/* Appends the encoding of a JSON array of parts (checked text): strings,
 * numbers and booleans as such; {"type":"bigint","value":"12"},
 * {"type":"Uint8Array","value":"<base64url>"} and {"type":"number","value":
 * "NaN" | "Infinity" | "-Infinity" | "-0"} as in Deno's kv-utils, or "-NaN". An
 * empty array appends nothing. KX_BAD_KEY, also for an integer that a double
 * cannot hold (fault->inexact). */
enum kx_status kx_key_from_json(struct kx_slice json, struct kx_buffer *key,
                                struct kx_fault *fault);
/* Appends an encoded key as a JSON array; [] if the bytes are not a valid key.
 */
void kx_key_to_json(struct kx_slice key, struct kx_buffer *json);
/* Appends one part in the same form. */
void kx_part_to_json(const struct kx_part *part, struct kx_buffer *json);

/* Appends the encoding of one part that is written as an object, as above.
 * KX_BAD_KEY when the object (checked text) is not such a part. */
enum kx_status kx_key_add_typed(struct kx_buffer *key, struct kx_slice object,
                                struct kx_fault *fault);

/* Reads a number part. An integer that no double equals would silently become
 * another key, so it is refused: KX_BAD_KEY with fault->inexact. */
enum kx_status kx_key_number_parse(struct kx_slice token, double *number_out,
                                   struct kx_fault *fault);

/* Reads "NaN", "Infinity", "-Infinity", "-0" or "-NaN": Deno encodes a NaN with
 * its sign, so in keys, unlike in values, there are two. */
bool kx_key_number_special(struct kx_slice name, double *number_out);
const char *kx_key_number_special_name(double number);

/* A copy of a key, shown as an example. */
struct kx_sample {
    uint8_t key[KX_SAMPLE_KEY_MAX];
    size_t size;
};

#endif
