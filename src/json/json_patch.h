/* JSON Patch (RFC 6902) on texts, with further operations: `set` makes the
 * parents that are missing, `append` adds an element to an array, `include`
 * does so unless an element is equal, `exclude` removes all equal elements,
 * `sum` adds to a number, or to 0 where nothing is, within `min` and `max`.
 * What no operation names keeps its bytes. */
#ifndef JSON_PATCH_H
#define JSON_PATCH_H

#include "base/charge.h"
#include "kindex.h"

enum json_patch_result {
    JSON_PATCH_DONE,
    JSON_PATCH_MALFORMED,     /* an operation is not valid by itself */
    JSON_PATCH_NO_PLACE,      /* a path leads to nothing */
    JSON_PATCH_TEST_FAILED,   /* `test` found another value */
    JSON_PATCH_NO_ARRAY,      /* append, include, exclude: no array is there */
    JSON_PATCH_NO_NUMBER,     /* sum: another value is there */
    JSON_PATCH_NOT_FINITE,    /* sum: too large for a double */
    JSON_PATCH_MIN_ABOVE_MAX, /* sum: its bounds can never be kept */
    JSON_PATCH_BELOW_MIN,     /* sum: refused, as the next */
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

/* Has a sum been refused by its bounds? */
static inline bool json_patch_beyond(enum json_patch_result result)
{
    return result == JSON_PATCH_BELOW_MIN || result == JSON_PATCH_ABOVE_MAX;
}

/* Appends the patched target to out; the number at the path, if there is one,
 * when a sum is refused by its bounds; else nothing. Both texts were accepted
 * by kx_json_check or kx_json_check_document. Any thread. */
enum json_patch_result json_patch(struct json_patch *patch,
                                  struct kx_buffer *out);

#endif
