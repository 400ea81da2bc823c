/* JSON objects that the service interprets, read member by member on the raw
 * text, so that values inside them keep their bytes. */
#ifndef API_MEMBERS_H
#define API_MEMBERS_H

#include "flaw.h"

/* Reads one member's raw value into what `target` points to. */
typedef bool member_fn(void *target, struct kx_slice value, struct flaw *flaw);

struct member {
    const char *name;
    member_fn *read;
};

/* Reads an object (kx_json_check accepted it) by a table that ends with a NULL
 * name. PROBLEM_UNKNOWN_MEMBER for names that are not in it,
 * PROBLEM_BAD_REQUEST for what is no object; pointers are relative to the
 * object. */
bool members_read(struct kx_slice object, const struct member *table,
                  void *target, struct flaw *flaw);

/* Number of elements of an array; false when it is none. */
bool members_count(struct kx_slice array, size_t *count_out, struct flaw *flaw);

/* Readers of single values. */
bool members_flag(struct kx_slice value, bool *flag_out, struct flaw *flaw);
bool members_whole(struct kx_slice value, size_t max, size_t *number_out,
                   struct flaw *flaw);
/* Appends the characters of a text. */
bool members_text(struct kx_slice value, struct kx_buffer *out,
                  struct flaw *flaw);

#endif
