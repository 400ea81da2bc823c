/* Equality of JSON texts in which numbers are compared as they are written. */
#ifndef JSON_EQUAL_H
#define JSON_EQUAL_H

#include "kindex.h"

/* True if both texts are the same JSON value: members in any order, strings by
 * their characters, numbers by their decimal values, so that 9007199254740993
 * does not equal 9007199254740992. Any thread. */
bool json_equal_exactly(struct kx_slice a, struct kx_slice b);

/* The levels of arrays and objects in a checked text: 0 for a scalar. Comparing
 * or merging texts passes their bytes once for each level. */
size_t json_depth(struct kx_slice text);

#endif
