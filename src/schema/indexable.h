/* The conversion of values to parts of index keys. */
#ifndef INDEXABLE_H
#define INDEXABLE_H

#include "schema/casefold.h"
#include "kindex.h"

/* Appends the key part that a JSON value (a raw token of checked text) means as
 * an operand. Strings are folded; numbers and booleans are taken as such.
 * {"type":"bigint","value":"12"} and the other kv-utils forms of key parts
 * become those parts. {"type":"Date","value":"2024-02-29T12:00:00.000Z"}
 * becomes its number of milliseconds. KX_OK; KX_ABSENT: null, an array or
 * another object, which have no order; KX_NO_MEMORY. On errors key may have
 * additional bytes. */
enum kx_status indexable_add(struct kx_slice token, enum fold fold,
                             struct kx_buffer *key);

/* As indexable_add, for a value that is stored: -0 equals 0, so it becomes 0,
 * unless signed_zero. "-NaN" is a part of keys only, so it is KX_ABSENT. */
enum kx_status indexable_add_value(struct kx_slice token, enum fold fold,
                                   bool signed_zero, struct kx_buffer *key);

/* Appends a key part, folded if it is text. KX_OK, KX_BAD_KEY, KX_NO_MEMORY. */
enum kx_status indexable_fold(struct kx_slice encoded, enum fold fold,
                              struct kx_buffer *key);

/* Makes the part from `at` on 0 if it is -0. */
void indexable_unsign(struct kx_buffer *key, size_t at);
/* True if the part is 0 or -0. */
bool indexable_is_zero(struct kx_slice encoded);

/* Appends the part of an entry without the field: an empty byte string, before
 * which no other part sorts. KX_OK, KX_NO_MEMORY. */
enum kx_status indexable_add_null(struct kx_buffer *key);
bool indexable_is_null(struct kx_slice encoded);

/* Replaces the part from `at` on by a byte string with the opposite order: the
 * complement of its encoding and a zero. The encoding of one part can begin
 * that of another, which then continues with FF (an escaped zero); with a zero
 * after it, it begins no other, and greater parts come first. KX_OK,
 * KX_NO_MEMORY. */
enum kx_status indexable_descend(struct kx_buffer *key, size_t at);

/* Appends the part that indexable_descend has replaced by `encoded`. KX_OK,
 * KX_BAD_KEY: it has made no such part; KX_NO_MEMORY. */
enum kx_status indexable_ascend(struct kx_slice encoded, struct kx_buffer *key);

#endif
