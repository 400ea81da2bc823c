/* JSON objects that the service interprets, read member by member on the raw
 * text, so that values inside them keep their bytes. A table has the names of
 * the members and the function that reads each. Other names are errors, because
 * a mistyped name must not be ignored. kx_json_check has refused duplicate
 * names. */
#ifndef API_MEMBER_TABLE_H
#define API_MEMBER_TABLE_H

#include "http/input_error.h"

/* Reads one member's raw value (a slice of the document) into what `target`
 * points to. False with an error whose pointer is relative to the value;
 * member_table_read prepends the member's name. */
typedef bool member_fn(void *target, struct kx_slice value,
                       struct input_error *error);

struct member {
    const char *name;
    member_fn *read;
};

/* Reads an object (kx_json_check accepted it) by a table that ends with a NULL
 * name. PROBLEM_UNKNOWN_MEMBER for names that are not in it,
 * PROBLEM_BAD_REQUEST for a value that is not an object; pointers are relative
 * to the object. */
bool member_table_read(struct kx_slice object, const struct member *table,
                       void *target, struct input_error *error);

/* The number of elements of an array; false (PROBLEM_BAD_REQUEST) for any other
 * value. */
bool member_table_count(struct kx_slice array, size_t *count_out,
                        struct input_error *error);

/* Readers of single values: true or false; a whole number from 1 to max. False
 * with PROBLEM_BAD_REQUEST, *_out is then unchanged. */
bool member_table_flag(struct kx_slice value, bool *flag_out,
                       struct input_error *error);
bool member_table_whole(struct kx_slice value, size_t max, size_t *number_out,
                        struct input_error *error);
/* Appends the characters of a text. */
bool member_table_text(struct kx_slice value, struct kx_buffer *out,
                       struct input_error *error);

#endif
