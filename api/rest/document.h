/* JSON documents that the service interprets, read member by member on the raw
 * text, so that values inside them keep their bytes. A table has the name of
 * each member and the function that reads it. Unknown names are errors, since a
 * misspelt name must not be ignored. The caller has checked the document with
 * kx_json_check, which refuses duplicate names. */
#ifndef API_DOCUMENT_H
#define API_DOCUMENT_H

#include "http/input_error.h"

/* Reads one member's raw value (a slice of the document) into what `target`
 * points to. Returns false with an error whose pointer is relative to the
 * value; document_read prepends the member's name. */
typedef bool member_fn(void *target, struct kx_slice value,
                       struct input_error *error);

struct member {
    const char *name;
    member_fn *read;
};

/* Reads an object by a table that ends with a NULL name. Returns false with the
 * error of a member, PROBLEM_UNKNOWN_MEMBER, or PROBLEM_BAD_REQUEST for a value
 * that is not an object. Pointers are relative to the object. */
bool document_read(struct kx_slice object, const struct member *table,
                   void *target, struct input_error *error);

/* Readers of single values. They return false with PROBLEM_BAD_REQUEST and
 * leave
 * *_out unchanged if the value has another type.
 *
 * The number of elements of an array. */
bool document_count(struct kx_slice array, size_t *count_out,
                    struct input_error *error);
/* true or false. */
bool document_flag(struct kx_slice value, bool *flag_out,
                   struct input_error *error);
/* A whole number from 1 to max. */
bool document_whole(struct kx_slice value, size_t max, size_t *number_out,
                    struct input_error *error);
/* Appends the characters of a string to *out. */
bool document_text(struct kx_slice value, struct kx_buffer *out,
                   struct input_error *error);

#endif
