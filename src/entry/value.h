/* Values: the results of mutations that need the stored value, and the equality
 * of two values. */
#ifndef VALUE_H
#define VALUE_H

#include "base/charge.h"
#include "kindex.h"

/* The kind of a value in a sentence: "a JSON object", "a KvU64", "a V8 value".
 * A constant. */
const char *value_type_text(const struct kx_value *value);

/* The result of a KX_SUM, KX_MIN, KX_MAX, KX_PATCH or KX_JSON_PATCH on
 * `stored`. The value of the mutation is the operand. With stored NULL
 * (absent), the result is the operand; a patch is applied to nothing. Slices of
 * the result lie in work->out, to which bytes may be appended, or in the
 * arguments.
 *
 * A KvU64 is combined with a KvU64, and the sum wraps. A JSON number is
 * combined with a JSON number as json_arithmetic.h says. value_number.c says
 * how V8 values are combined. A patch is JSON, applied to JSON or to a V8 value
 * that JSON can carry. KX_OK; KX_TYPE_MISMATCH for other combinations;
 * KX_NUMBER_RANGE if a sum is not finite or exceeds its limits;
 * KX_PATH_ABSENT, KX_TEST_FAILED, KX_BAD_VALUE, KX_JSON_TOO_DEEP and
 * KX_COMMIT_TOO_LARGE (the charge has passed its budget) for an operation, to
 * which the fault's pointer leads;
 * KX_OUT_OF_BOUNDS for one that is a sum, with the number at its place, or no
 * bytes, as the result;
 * KX_NO_MEMORY. The charge (NULL: not counted) pays for the work of a patch.
 */
struct value_work {
    struct kx_buffer *out;
    struct charge *charge; /* NULL: not counted */
};
enum kx_status value_combine(const struct kx_mutation *mutation,
                             const struct kx_value *stored,
                             const struct value_work *work,
                             struct kx_value *result_out,
                             struct kx_fault *fault);

/* Holds *sum, the result of a KX_SUM on `stored` (NULL: absent), against the
 * mutation's bounds, if it has some that value_combine does not know. KX_OK: it
 * is within them, or has been replaced by a bound as asked; KX_OUT_OF_BOUNDS;
 * KX_TYPE_MISMATCH for bounds of another type; KX_NO_MEMORY. Bytes may be
 * appended to out. */
enum kx_status value_bound(const struct kx_mutation *mutation,
                           const struct kx_value *stored, struct kx_buffer *out,
                           struct kx_value *sum, struct kx_fault *fault);

/* *equal_out: both are the same value, in any encoding. Values with different
 * bytes are compared as JSON shows them. So a pointer equals the value that it
 * is shown as, and the order of an object's members does not matter. KX_OK,
 * KX_NO_MEMORY. memory: a talloc context for scratch. */
enum kx_status value_equal(const struct kx_value *a, const struct kx_value *b,
                           const void *memory, bool *equal_out);

#endif
