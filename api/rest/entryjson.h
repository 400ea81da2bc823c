/* Entries as JSON: {"key":[...],"value":...,"versionstamp":"...",
 * "expiresAt":ms}; `typed` in place of `value` for values that JSON cannot
 * carry. Pages, streams and batches show entries in this form; a GET of one
 * entry shows its bare value (answer.h). When memory runs out, only out->failed
 * is set. */
#ifndef API_ENTRYJSON_H
#define API_ENTRYJSON_H

#include "rest/projection.h"

/* Which parts of an entry are shown; zeroed: all. */
struct shape {
    bool keys_only;
    bool previews;  /* `kind`, `size` and `preview` in place of the value */
    size_t preview; /* bytes of it at most; 0: no such member */
    struct projection fields;
};

/* Appends an entry. The bytes of a JSON value are put in as they are. */
void entryjson_write(const struct kx_entry *entry, struct kx_buffer *out);

/* Appends the parts of an entry that shape selects. */
void entryjson_write_shaped(const struct kx_entry *entry,
                            const struct shape *shape, struct kx_buffer *out);

/* Appends the entry that stands for a missing key: value and versionstamp are
 * null. A stored null has a versionstamp. */
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
