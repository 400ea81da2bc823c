/* JSON texts: checked once, then read and edited as text, without a tree. */
#ifndef KINDEX_JSON_H
#define KINDEX_JSON_H

#include "kindex/bytes.h"
#include "kindex/status.h"

/* Checks that text is exactly one RFC 8259 value, with white space allowed
 * around it: valid UTF-8, no duplicate member names, depth at most
 * KX_JSON_DEPTH_MAX, no lone surrogate escapes, all numbers finite as doubles.
 * Errors: KX_BAD_JSON, KX_JSON_TOO_DEEP, with offset and detail; KX_NO_MEMORY.
 */
enum kx_status kx_json_check(struct kx_slice text, struct kx_fault *fault);
/* As kx_json_check, for a document with levels of its own around the values
 * that it contains: depth at most KX_JSON_DOCUMENT_DEPTH_MAX. */
enum { KX_JSON_DOCUMENT_DEPTH_MAX = 136 };
enum kx_status kx_json_check_document(struct kx_slice text,
                                      struct kx_fault *fault);

/* The functions below work on text that kx_json_check accepted. */

enum kx_json_type {
    KX_JSON_NULL,
    KX_JSON_FALSE,
    KX_JSON_TRUE,
    KX_JSON_NUMBER,
    KX_JSON_STRING,
    KX_JSON_ARRAY,
    KX_JSON_OBJECT
};
/* The type of the value at the start of text (after white space). */
enum kx_json_type kx_json_type(struct kx_slice text);
/* The value at an RFC 6901 pointer ("" is the whole text), without the white
 * space around it. False: there is no such value. */
bool kx_json_find(struct kx_slice text, struct kx_slice pointer,
                  struct kx_slice *value_out);
/* Iterates over the members of an object or the elements of an array. It points
 * into the text and owns nothing: it may be copied or abandoned at any time. */
struct kx_json_iter {
    struct kx_slice rest;
    bool object;
};
/* False when text is neither an object nor an array. */
bool kx_json_iterate(struct kx_slice text, struct kx_json_iter *iter_out);
/* Next member: name is the raw string token with its quotes (empty for array
 * elements), value the raw value. False after the last. */
bool kx_json_next(struct kx_json_iter *iter, struct kx_slice *name_out,
                  struct kx_slice *value_out);
/* Appends the characters of a string token (with its quotes), unescaped, as
 * UTF-8. */
void kx_json_unescape(struct kx_slice token, struct kx_buffer *out);
/* Appends a string token with quotes for UTF-8 text (NUL allowed). */
void kx_json_escape(struct kx_slice utf8, struct kx_buffer *out);
/* True if both texts are the same JSON value: members in any order, numbers
 * compared as doubles, strings by their characters. */
bool kx_json_equal(struct kx_slice a, struct kx_slice b);
/* RFC 7396: appends target patched by patch. Members that the patch does not
 * change keep their exact bytes. target.size 0: there is no target. Without
 * memory out->failed is set. */
void kx_json_merge(struct kx_slice target, struct kx_slice patch,
                   struct kx_buffer *out);

/* True for a JSON Pointer (RFC 6901) of at most KX_POINTER_MAX bytes; "" is
 * one. */
bool kx_pointer_valid(struct kx_slice text);
/* True if `other` is the same path as pointer, or one inside it. */
bool kx_pointer_covers(struct kx_slice pointer, struct kx_slice other);
/* Appends an object with the values at the paths, nested as in the text. The
 * paths are JSON Pointers, at most KX_PROJECTION_MAX, none empty and none
 * covering another. Only objects have members; arrays have none. If text is not
 * an object, appends {} and returns false. */
bool kx_json_project(struct kx_slice text, const struct kx_slice *paths,
                     size_t count, struct kx_buffer *out);
/* As kx_json_project, for a text in the typed form (value.h); the result is in
 * the typed form, too. */
bool kx_json_project_typed(struct kx_slice text, const struct kx_slice *paths,
                           size_t count, struct kx_buffer *out);

#endif
