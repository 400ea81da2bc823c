/* Entries as JSON: {"key":[...],"value":...,"versionstamp":"...",
 * "expiresAt":ms}; `typed` instead of `value` where JSON cannot carry it. The
 * one form in which pages, streams and batches show entries; a single entry at
 * its own path is shown as its bare value (answer.h). Running out of memory
 * shows in out->failed only. */
#ifndef API_ENTRYJSON_H
#define API_ENTRYJSON_H

#include "rest/projection.h"

/* How much of an entry is shown: clean (all zero), all of it. */
struct shape {
    bool keys_only;
    struct projection fields;
};

/* Appends an entry. The bytes of a JSON value are put in as they are. */
void entryjson_write(const struct kx_entry *entry, struct kx_buffer *out);

/* Appends as much of it as shape says. */
void entryjson_write_shaped(const struct kx_entry *entry,
                            const struct shape *shape, struct kx_buffer *out);

/* Appends the entry that stands for a missing key: value and versionstamp are
 * null. A stored null has a versionstamp. */
void entryjson_write_absent(struct kx_slice key, struct kx_buffer *out);

/* Appends a versionstamp in quotes; null for 0. */
void entryjson_write_stamp(uint64_t stamp, struct kx_buffer *out);

/* Replaces line breaks from `from` on by spaces: JSON strings have none, so
 * what was JSON still is the same, on one line. */
void entryjson_one_line(struct kx_buffer *out, size_t from);

#endif
