/* Numbers in values, whatever their encoding: JSON numbers, V8 numbers and
 * bigints, KvU64. */
#ifndef VALUE_NUMBER_H
#define VALUE_NUMBER_H

#include "v8_bigint.h"

enum number_kind { NUMBER_NONE, NUMBER_DOUBLE, NUMBER_BIGINT, NUMBER_U64 };

struct value_number {
    enum number_kind kind;
    double number;
    struct v8_bigint bigint; /* its bytes lie in the value */
    uint64_t u64;
};

/* What number a value is; NUMBER_NONE: none, or a bigint of more than
 * KX_V8_BIGINT_MAX bytes. memory: a talloc context for scratch. */
struct value_number value_number(const struct kx_value *value,
                                 const void *memory);

/* "sum", "min" or "max". */
const char *value_verb(enum kx_mutation_type type);

/* Deno KV's words for an operand that is no number. */
extern const char value_not_number[];

/* sum, min and max where the operand or the stored value (which is there) is
 * V8; otherwise as value_combine. The detail of a refusal is in the words of
 * Deno KV. */
enum kx_status value_combine_v8(const struct kx_mutation *mutation,
                                const struct kx_value *stored,
                                struct kx_buffer *out,
                                struct kx_value *result_out,
                                struct kx_fault *fault);

#endif
