/* JSON Patch (RFC 6902) on texts, with further operations: `set` makes missing
 * parents, `append` adds an element to an array, `include` adds it unless an
 * element equals it, `exclude` removes all equal elements, and `sum` adds to a
 * number, or to 0 if the path has no value, within `min` and `max`. Bytes that
 * no operation changes stay as they are. */
#ifndef JSON_PATCH_H
#define JSON_PATCH_H

#include "base/charge.h"
#include "kindex.h"

enum json_patch_result {
    JSON_PATCH_DONE,
    JSON_PATCH_MALFORMED,   /* an operation is not valid by itself */
    JSON_PATCH_NO_PLACE,    /* a path leads to nothing */
    JSON_PATCH_TEST_FAILED, /* `test` found another value */
    JSON_PATCH_NO_ARRAY,   /* append, include, exclude: the value is no array */
    JSON_PATCH_NO_NUMBER,  /* sum: the value is not a number */
    JSON_PATCH_NOT_FINITE, /* sum: too large for a double */
    JSON_PATCH_MIN_ABOVE_MAX, /* sum: no number is within the bounds */
    JSON_PATCH_BELOW_MIN,     /* sum: refused, like JSON_PATCH_ABOVE_MAX */
    JSON_PATCH_ABOVE_MAX,
    JSON_PATCH_TOO_DEEP,  /* more than KX_JSON_DEPTH_MAX levels */
    JSON_PATCH_TOO_LARGE, /* the charge has passed its budget */
    JSON_PATCH_NO_MEMORY
};

struct json_patch {
    struct kx_slice target; /* the value to change */
    struct kx_slice operations;
    struct charge *charge; /* pays for the bytes that each operation passes */
    /* Unless the result is JSON_PATCH_DONE: the number of the operation that
     * failed, and for JSON_PATCH_MALFORMED its member, or "", as for
     * JSON_PATCH_MIN_ABOVE_MAX. */
    size_t operation;
    const char *member;
};

/* True if its bounds have refused a sum. */
static inline bool json_patch_beyond(enum json_patch_result result)
{
    return result == JSON_PATCH_BELOW_MIN || result == JSON_PATCH_ABOVE_MAX;
}

/* Appends the patched target to out. If the bounds of a sum refuse it, appends
 * the number at its path, if there is one; after other errors nothing.
 * kx_json_check or kx_json_check_document must have accepted both texts. Any
 * thread. */
enum json_patch_result json_patch(struct json_patch *patch,
                                  struct kx_buffer *out);

#endif
