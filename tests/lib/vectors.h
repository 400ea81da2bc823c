/* Values as Deno and Node write them, from tests/data/value-vectors.json. */
#ifndef VECTORS_H
#define VECTORS_H

#include <jansson.h>

#include "kindex.h"
#include "unit.h"

/* Reads a file of tests/data, which the caller then owns; fails if it cannot.
 */
json_t *vectors_load(const char *name);

/* Returns a string of the vector, or NULL. */
const char *vector_text(const json_t *vector, const char *name);

/* Appends bytes given as hexadecimal digits. */
void add_hex(struct kx_buffer *out, const char *hex);

/* Replaces the contents of out by the bytes of hex, and returns them. */
struct kx_slice from_hex(struct kx_buffer *out, const char *hex);

/* A value of those bytes, which are not copied. */
struct kx_value v8(struct kx_slice bytes);

/* The bytes that "deno" or "node" writes for a vector; false when it cannot
 * write the value. Long ones are given by what they repeat. */
bool vector_bytes(const json_t *vector, const char *writer,
                  struct kx_buffer *out);

#endif
