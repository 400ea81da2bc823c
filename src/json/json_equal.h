/* Equality of JSON texts in which numbers are compared as they are written. */
#ifndef JSON_EQUAL_H
#define JSON_EQUAL_H

#include "kindex.h"

/* As kx_json_equal, but numbers are equal if their decimal values are:
 * 9007199254740993 does not equal 9007199254740992. Any thread. */
bool json_equal_exactly(struct kx_slice a, struct kx_slice b);

/* The levels of arrays and objects in a checked text: 0 for a scalar. What
 * compares or merges texts passes their bytes once for each level. */
size_t json_depth(struct kx_slice text);

#endif
