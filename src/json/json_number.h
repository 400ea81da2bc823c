/* Numbers as they are written in JSON, compared by their decimal values, and
 * added. A token is the text of a valid number without white space. Any
 * thread. */
#ifndef JSON_NUMBER_H
#define JSON_NUMBER_H

#include "kindex.h"

/* Negative, 0 or positive if the decimal value of a is less than, equal to or
 * greater than that of b: 1.0 equals 1e0, and 9007199254740993 is greater than
 * 9007199254740992. Exponents beyond 2^48 count as 2^48. */
int json_number_compare(struct kx_slice a, struct kx_slice b);

/* True if the decimal value has no fraction: of 1.0 and 1e3, not of 1e-3. */
bool json_number_is_integer(struct kx_slice number);

/* Numbers with equal values have the same hash. It is not safe against chosen
 * input. */
uint64_t json_number_hash(struct kx_slice number);

/* The digits of a number from the first to the last that is not 0. */
size_t json_number_digits(struct kx_slice number);

/* True if the number is an integer times the divisor, which is not 0 and has at
 * most JSON_DIVISOR_DIGITS digits. Nothing is rounded, and exponents of any
 * size cost little. */
enum { JSON_DIVISOR_DIGITS = 18 };
bool json_number_is_multiple(struct kx_slice number, struct kx_slice divisor);

/* Appends the sum. It is exact if both numbers are integers without fraction
 * and exponent and the sum fits into a signed 64-bit integer; otherwise it is
 * the sum of the nearest doubles. False if that is not finite. Without memory
 * out->failed is set. */
bool json_number_sum(struct kx_slice a, struct kx_slice b,
                     struct kx_buffer *out);

#endif
