/* Values: what the mutations that need the stored value make of it, and when
 * two of them are the same. */
#ifndef VALUE_H
#define VALUE_H

#include "kindex.h"

/* What kind of value it is, for a sentence: "a JSON object", "a KvU64", "a V8
 * value". A constant. */
const char *value_type_text(const struct kx_value *value);

/* The result of a KX_SUM, KX_MIN, KX_MAX or KX_PATCH, whose value is the
 * operand, on `stored` (NULL: absent; the result is then the operand, patched
 * into nothing). Its slices lie in out, to which it may append, or in the
 * arguments.
 *
 * A KvU64 goes with a KvU64, and the sum wraps. A JSON number goes with a JSON
 * number: exactly where both are integers and the result fits into 64 bits
 * with a sign, as doubles otherwise. What V8 goes with says value_number.c. A
 * patch goes with JSON on JSON, and on V8 that JSON can carry.
 * KX_TYPE_MISMATCH otherwise; KX_NUMBER_RANGE when a sum is not finite;
 * KX_NO_MEMORY. */
enum kx_status value_combine(const struct kx_mutation *mutation,
                             const struct kx_value *stored,
                             struct kx_buffer *out, struct kx_value *result_out,
                             struct kx_fault *fault);

/* Are they the same value, however encoded? Those that are not the same bytes
 * are compared as JSON shows them, so a pointer equals what it is shown as, and
 * the order of an object's members does not matter. KX_OK or KX_NO_MEMORY;
 * memory: a talloc context for scratch. */
enum kx_status value_equal(const struct kx_value *a, const struct kx_value *b,
                           const void *memory, bool *equal_out);

#endif
