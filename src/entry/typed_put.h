/* The interface between typed_v8.c and typed_leaf.c: typed values written as
 * V8. */
#ifndef TYPED_PUT_H
#define TYPED_PUT_H

#include "entry/typed_members.h"
#include "v8/v8_writer.h"

struct typed_sink {
    struct v8_writer writer;
    void *memory; /* for scratch, freed after the whole value */
    struct kx_fault *fault;
};

/* Writes a typed value. KX_OK, KX_BAD_VALUE, KX_NO_MEMORY. */
typedef enum kx_status typed_put_fn(struct typed_sink *sink,
                                    const struct typed *typed);

/* The values without children: undefined; string, number, boolean and null;
 * bigint; Date; RegExp; ArrayBuffer; DataView and typed arrays. */
typed_put_fn typed_put_undefined;
typed_put_fn typed_put_scalar;
typed_put_fn typed_put_bigint;
typed_put_fn typed_put_date;
typed_put_fn typed_put_regexp;
typed_put_fn typed_put_buffer;
typed_put_fn typed_put_view;

#endif
