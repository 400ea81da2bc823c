/* Arithmetic with the numbers of V8: numbers and bigints. */
#ifndef VALUE_NUMBER_H
#define VALUE_NUMBER_H

#include "kindex.h"

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
