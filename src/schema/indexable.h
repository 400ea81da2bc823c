/* Which values can be indexed, and as which key part. */
#ifndef INDEXABLE_H
#define INDEXABLE_H

#include "schema/casefold.h"
#include "kindex.h"

/* Appends the key part of a JSON value (a raw token of checked text): strings,
 * folded, numbers and booleans as themselves; {"type":"bigint","value":"12"}
 * and the other kv-utils forms of key parts as what they stand for;
 * {"type":"Date","value":"2024-02-29T12:00:00.000Z"} as the number of its
 * milliseconds. KX_OK; KX_ABSENT: null, an array or another object, which have
 * no place in the order of keys; KX_NO_MEMORY. On errors key may have some
 * bytes more. */
enum kx_status indexable_add(struct kx_slice token, enum fold fold,
                             struct kx_buffer *key);

/* Appends a key part, folded if it is text. KX_OK, KX_BAD_KEY, KX_NO_MEMORY. */
enum kx_status indexable_fold(struct kx_slice encoded, enum fold fold,
                              struct kx_buffer *key);

#endif
