/* Values: the results of mutations that need the stored value, bounds of sums,
 * and the equality of two values. Any thread. */
#ifndef VALUE_H
#define VALUE_H

#include "base/charge.h"
#include "kindex.h"

/* The kind of a value in a sentence: "a JSON object", "a KvU64", "a V8 value".
 * A constant. */
const char *value_type_text(const struct kx_value *value);

/* Where a mutation is computed. */
struct value_work {
    struct kx_buffer *out; /* results are appended; scratch has its owner */
    struct charge *charge; /* pays for a patch; NULL: not counted */
};

/* Computes a KX_SUM, KX_MIN, KX_MAX, KX_PATCH or KX_JSON_PATCH: the operand is
 * the value of the mutation, and `stored` is NULL if there is no entry. Without
 * an entry the result is the operand, or what a patch makes of {}. Slices of
 * the result lie in work->out or in the arguments.
 *
 * A KvU64 is combined with a KvU64, and its sum wraps. A JSON number is
 * combined with a JSON number by their decimal values (json_number.h). If one
 * of the two is V8, a number is combined with a number and a bigint with a
 * bigint; a stored KvU64 takes a bigint from 0 to 2^64 - 1. Bounds of Deno KV
 * are kept. A patch is JSON, applied to JSON or to a V8 value that JSON can
 * carry.
 *
 * KX_OK; KX_TYPE_MISMATCH for other combinations; KX_NUMBER_RANGE for a sum
 * that is not finite, has too many bytes, or is beyond Deno KV's bounds;
 * KX_NO_MEMORY. If an operation of a patch fails, the fault's pointer leads to
 * it: KX_PATH_ABSENT, KX_TEST_FAILED, KX_TYPE_MISMATCH, KX_NUMBER_RANGE,
 * KX_BAD_VALUE, KX_JSON_TOO_DEEP, KX_COMMIT_TOO_LARGE (the charge has passed
 * its budget), or KX_OUT_OF_BOUNDS for its sum: the result is then the number
 * at the path, or has no bytes without a number. */
enum kx_status value_combine(const struct kx_mutation *mutation,
                             const struct kx_value *stored,
                             const struct value_work *work,
                             struct kx_value *result_out,
                             struct kx_fault *fault);

/* Applies the mutation's bounds, except Deno KV's, to *sum, the result of a
 * KX_SUM on `stored` (NULL: no entry). KX_OK: the sum is within the bounds, or
 * was replaced by the bound because the mutation asks for that;
 * KX_OUT_OF_BOUNDS; KX_TYPE_MISMATCH for bounds of another type; KX_NO_MEMORY.
 * Bytes may be appended to out. */
enum kx_status value_bound(const struct kx_mutation *mutation,
                           const struct kx_value *stored, struct kx_buffer *out,
                           struct kx_value *sum, struct kx_fault *fault);

/* *equal_out: whether both are the same value, in any encoding. Values with
 * different bytes are compared as JSON shows them, so a pointer equals the
 * value that it is shown as, and the order of an object's members does not
 * matter. KX_OK, KX_NO_MEMORY. memory: a talloc context for scratch. */
enum kx_status value_equal(const struct kx_value *a, const struct kx_value *b,
                           const void *memory, bool *equal_out);

#endif
