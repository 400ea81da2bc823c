/* Numbers of JSON as they are written: compared by their decimal values, and
 * added. A token is the text of a valid number, without white space. Any
 * thread. */
#ifndef JSON_NUMBER_H
#define JSON_NUMBER_H

#include "kindex.h"

/* Negative, 0 or positive as the decimal value of a is less than, equal to or
 * greater than that of b: 1.0 equals 1e0, and 9007199254740993 is greater than
 * 9007199254740992. Exponents beyond 2^48 are taken for 2^48. */
int json_number_compare(struct kx_slice a, struct kx_slice b);

/* Appends the sum: exact if both are integers without fraction and exponent and
 * it fits into 64 bits with a sign; otherwise that of the nearest doubles.
 * False if that is not finite; out->failed tells of memory. */
bool json_number_sum(struct kx_slice a, struct kx_slice b,
                     struct kx_buffer *out);

#endif
