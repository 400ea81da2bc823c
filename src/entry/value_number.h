/* Arithmetic with V8 numbers and bigints. */
#ifndef VALUE_NUMBER_H
#define VALUE_NUMBER_H

#include "kindex.h"

/* "sum", "min" or "max". */
const char *value_verb(enum kx_mutation_type type);

/* Deno KV's message for an operand that is not a number. */
extern const char value_not_number[];

/* sum, min and max if the operand or the stored value, which must not be NULL,
 * is V8. Otherwise as value_combine. The detail of a refusal has the wording of
 * Deno KV. */
enum kx_status value_combine_v8(const struct kx_mutation *mutation,
                                const struct kx_value *stored,
                                struct kx_buffer *out,
                                struct kx_value *result_out,
                                struct kx_fault *fault);

#endif
