/* Entries as JSON: {"key":[...],"value":...,"versionstamp":"...",
 * "expiresAt":ms}, with `typed` in place of `value` if JSON cannot represent
 * it. Lists and watches show entries in this form; a GET of one entry shows its
 * bare value (answer.h). Functions without a result set out->failed if memory
 * runs out. */
#ifndef API_ENTRYJSON_H
#define API_ENTRYJSON_H

#include "rest/query_params.h"

/* The members of values that a read asks for: ?fields=/name,/address/city, or
 * the member `fields` of a document. An entry then shows an object of only
 * these members, nested as in its value. Missing members are left out; a value
 * that is not an object is shown as {}. Zeroed, it selects whole values. */
struct projection {
    struct kx_slice paths[KX_PROJECTION_MAX]; /* JSON Pointers */
    size_t count;
};

/* Reads ?fields=, if it is given: pointers and names of members, separated by
 * commas, or a JSON array of them. The paths lie in the query's memory. Returns
 * false with PROBLEM_BAD_PARAMETER. */
bool projection_read(const struct query_params *query,
                     struct projection *fields_out, struct input_error *error);

/* Reads a JSON array of pointers and names (checked text). The paths lie in
 * memory. False with PROBLEM_BAD_REQUEST. */
bool projection_read_array(struct kx_slice array, const void *memory,
                           struct projection *fields_out,
                           struct input_error *error);

/* Appends the object with the selected members of a value. Returns true if it
 * is plain JSON, false if it is typed or memory ran out. */
bool projection_write(const struct projection *fields,
                      const struct kx_value *value, struct kx_buffer *out);

struct expanding;

/* Which parts of an entry are shown; zeroed: all. */
struct shape {
    bool keys_only;
    bool previews;  /* `kind`, `size` and `preview` in place of the value */
    size_t preview; /* its bytes at most; 0: no member `preview` */
    struct projection fields;
    bool jobs; /* also the member `job`: attempts, lease and error */
    struct expanding *expansion; /* entries/expand.h; NULL: none */
};

/* Appends an entry. The bytes of a JSON value are copied unchanged. */
void entryjson_write(const struct kx_entry *entry, struct kx_buffer *out);

/* Appends the parts of an entry that shape selects. */
void entryjson_write_shaped(const struct kx_entry *entry,
                            const struct shape *shape, struct kx_buffer *out);

/* Appends the entry of a key without an entry: value and versionstamp are null.
 * (A stored null has a versionstamp.) */
void entryjson_write_absent(struct kx_slice key, struct kx_buffer *out);

/* Appends a versionstamp in quotes; null for 0. */
void entryjson_write_stamp(uint64_t stamp, struct kx_buffer *out);

/* Replaces line breaks from offset `from` on by spaces. JSON strings contain no
 * line breaks, so the JSON keeps its meaning and is on one line. */
void entryjson_one_line(struct kx_buffer *out, size_t from);

/* Reads a typed value ({"type":"KvU64","value":"1"}), which kx_json_check
 * accepted. The value's slices lie in buffers made in memory. False with
 * PROBLEM_BAD_VALUE. */
bool entryjson_read_typed(struct kx_slice json, const void *memory,
                          struct kx_value *value_out,
                          struct input_error *error);

#endif
