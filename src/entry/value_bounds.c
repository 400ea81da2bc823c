/* Bounds of sums, but for those of Deno KV (value_number.c). A sum is beyond a
 * bound when the lesser of it and the greatest value allowed, or the greater of
 * it and the least one, is another value: so numbers are compared as min and
 * max compare them. */
#include "entry/value.h"

#include <endian.h>

static const uint8_t GREATEST_U64[8] = {0xff, 0xff, 0xff, 0xff,
                                        0xff, 0xff, 0xff, 0xff};

static uint64_t read_u64(const struct kx_value *value)
{
    uint64_t number;
    memcpy(&number, value->data.data, sizeof number);
    return le64toh(number);
}

/* A KvU64 only grows by a sum, unless it has wrapped. */
static bool wrapped(const struct kx_value *stored, const struct kx_value *sum)
{
    return stored != NULL && stored->encoding == KX_LE64 &&
           stored->data.size == sizeof(uint64_t) && sum->encoding == KX_LE64 &&
           read_u64(sum) < read_u64(stored);
}

/* Replaces the sum by the bound if it is beyond it: type KX_MIN for the
 * greatest value allowed, KX_MAX for the least one. */
static enum kx_status hold(enum kx_mutation_type type,
                           const struct kx_value *bound, struct kx_buffer *out,
                           struct kx_value *sum, struct kx_fault *fault)
{
    struct kx_mutation mutation = {.type = type, .value = *bound};
    if (bound->data.size == 0)
        return KX_OK;
    struct value_work work = {.out = out};
    return value_combine(&mutation, sum, &work, sum, fault);
}

enum kx_status value_bound(const struct kx_mutation *mutation,
                           const struct kx_value *stored, struct kx_buffer *out,
                           struct kx_value *sum, struct kx_fault *fault)
{
    const struct kx_bounds *bounds = mutation->bounds;
    if (bounds == NULL || bounds->of_deno)
        return KX_OK;
    struct kx_value exact = *sum;
    bool beyond = wrapped(stored, sum);
    if (beyond)
        sum->data = kx_slice(GREATEST_U64, sizeof GREATEST_U64);
    enum kx_status status = hold(KX_MIN, &bounds->max, out, sum, fault);
    bool above = beyond || !kx_equal(sum->data, exact.data);
    if (status == KX_OK)
        status = hold(KX_MAX, &bounds->min, out, sum, fault);
    if (status != KX_OK || kx_equal(sum->data, exact.data) ||
        bounds->out == KX_OUT_CLAMP)
        return status;
    return kx_fail(fault, KX_OUT_OF_BOUNDS, "the sum would be %s",
                   above ? "greater than max" : "less than min");
}

static bool is_like(const struct kx_value *bound,
                    const struct kx_value *operand)
{
    return bound->data.size == 0 || bound->encoding == operand->encoding;
}

/* The operand is combined with each bound only to learn whether it can be. */
enum kx_status kx_bounds_check(const struct kx_mutation *sum,
                               struct kx_buffer *scratch,
                               struct kx_fault *fault)
{
    const struct kx_bounds *bounds = sum->bounds;
    struct kx_value operand = sum->value;
    if (!is_like(&bounds->min, &operand) || !is_like(&bounds->max, &operand))
        return KX_TYPE_MISMATCH;
    enum kx_status status =
        hold(KX_MIN, &bounds->max, scratch, &operand, fault);
    if (status == KX_OK)
        status = hold(KX_MAX, &bounds->min, scratch, &operand, fault);
    if (status != KX_OK || bounds->min.data.size == 0)
        return status;
    struct kx_value least = bounds->min;
    status = hold(KX_MIN, &bounds->max, scratch, &least, fault);
    if (status == KX_OK && !kx_equal(least.data, bounds->min.data))
        return kx_fail(fault, KX_OUT_OF_BOUNDS, "min is greater than max");
    return status;
}
