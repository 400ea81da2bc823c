/* The conversion of values to parts of index keys. */
#ifndef INDEXABLE_H
#define INDEXABLE_H

#include "schema/casefold.h"
#include "kindex.h"

/* Appends the key part of a JSON value (a raw token of checked text). Strings
 * are folded; numbers and booleans are taken as such.
 * {"type":"bigint","value":"12"} and the other kv-utils forms of key parts
 * become those parts. {"type":"Date","value":"2024-02-29T12:00:00.000Z"}
 * becomes its number of milliseconds. KX_OK; KX_ABSENT: null, an array or
 * another object, which have no order; KX_NO_MEMORY. On errors key may have
 * additional bytes. */
enum kx_status indexable_add(struct kx_slice token, enum fold fold,
                             struct kx_buffer *key);

/* Appends a key part, folded if it is text. KX_OK, KX_BAD_KEY, KX_NO_MEMORY. */
enum kx_status indexable_fold(struct kx_slice encoded, enum fold fold,
                              struct kx_buffer *key);

#endif
