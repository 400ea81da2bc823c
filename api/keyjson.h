/* Keys in JSON: an array of parts. Strings, numbers and booleans stand for
 * themselves; {"type":"bigint","value":"12"},
 * {"type":"Uint8Array","value":"<base64url>","byteLength":n} and
 * {"type":"number","value":"NaN"|"Infinity"|"-Infinity"|"-0"} for the rest.
 * Works on the raw text, so that numbers are exact. */
#ifndef API_KEYJSON_H
#define API_KEYJSON_H

#include "flaw.h"

/* Appends the encoded parts of a JSON array, which kx_json_check accepted.
 * flaw's pointer is relative to the array. On a flaw the key may hold some of
 * the parts. */
bool keyjson_read(struct kx_slice array, struct kx_buffer *key,
                  struct flaw *flaw);

/* The same for a text that nobody has checked. */
bool keyjson_read_text(struct kx_slice text, struct kx_buffer *key,
                       struct flaw *flaw);

/* Appends the JSON array of an encoded key. */
void keyjson_write(struct kx_slice key, struct kx_buffer *out);

/* Appends one part as a JSON value. */
void keyjson_write_part(const struct kx_part *part, struct kx_buffer *out);

#endif
