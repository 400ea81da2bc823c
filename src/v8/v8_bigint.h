/* Bigints as V8 writes them: a sign and bytes, least first, in words of 8. */
#ifndef V8_BIGINT_H
#define V8_BIGINT_H

#include "kindex.h"

struct v8_bigint {
    struct kx_slice bytes;
    bool negative;
};

/* Appends the decimal digits, with '-' when it is negative and not 0. False for
 * one of more than KX_V8_BIGINT_MAX bytes. */
bool v8_bigint_write(struct v8_bigint number, struct kx_buffer *out);

/* Appends the bytes of an optional '-' and decimal digits to out, where
 * number_out points. False for other texts and numbers of more than
 * KX_V8_BIGINT_MAX bytes. */
bool v8_bigint_read(struct kx_slice decimal, struct kx_buffer *out,
                    struct v8_bigint *number_out);

/* -1, 0, 1: the order of two of at most KX_V8_BIGINT_MAX bytes. */
int v8_bigint_compare(struct v8_bigint a, struct v8_bigint b);

/* Appends the bytes of the sum of two of at most KX_V8_BIGINT_MAX bytes to out,
 * where the result points unless out->failed. */
struct v8_bigint v8_bigint_sum(struct v8_bigint a, struct v8_bigint b,
                               struct kx_buffer *out);

#endif
