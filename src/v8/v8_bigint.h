/* Bigints as V8 writes them: a sign, and a little endian magnitude whose size
 * is a multiple of 8 bytes. */
#ifndef V8_BIGINT_H
#define V8_BIGINT_H

#include "kindex.h"

struct v8_bigint {
    struct kx_slice bytes;
    bool negative;
};

/* Appends the decimal digits, with '-' if the number is negative and not 0.
 * False for a number of more than KX_V8_BIGINT_MAX bytes. */
bool v8_bigint_write(struct v8_bigint number, struct kx_buffer *out);

/* Reads an optional '-' and decimal digits. Appends the bytes to out, to which
 * number_out then points. False for other texts, and for numbers of more than
 * KX_V8_BIGINT_MAX bytes. */
bool v8_bigint_read(struct kx_slice decimal, struct kx_buffer *out,
                    struct v8_bigint *number_out);

/* Returns -1, 0 or 1: the order of two bigints of at most KX_V8_BIGINT_MAX
 * bytes. */
int v8_bigint_compare(struct v8_bigint a, struct v8_bigint b);

/* The sum of two bigints of at most KX_V8_BIGINT_MAX bytes. Appends its bytes
 * to out, to which the result points unless out->failed. */
struct v8_bigint v8_bigint_sum(struct v8_bigint a, struct v8_bigint b,
                               struct kx_buffer *out);

#endif
