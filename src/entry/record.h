/* The stored form of an entry: what a row of TABLE_ENTRIES holds beside its
 * key. An index entry also says which index it belongs to and which entry it
 * stands for (its owner).
 *
 *   1 byte    bits 0-2 encoding, bit 3 expires, bit 4 index entry,
 *             bits 5-7 bytes of the stamp less one
 *   1-8       versionstamp counter, little endian, no leading zeros
 *   8         expiry time in ms, little endian          (if bit 3)
 *   4, 2      id of the index, where the owner is       (if bit 4), both little
 *             endian: 0 < n < 4096: at offset n of the row's own key; 0: 2
 *             bytes of length and the owner's bytes follow. n has more bits:
 *             13: a copy that a client made, with a stamp of its own
 * (plan_adopt.h) 14: the form is an odd one 15: before the owner come 4 bytes
 * of length and the other form 1 + n     length and text of the media type (if
 * KX_BYTES) rest      the value
 *
 * While an index gets another `store` its rows have both forms (row_form.h).
 */
#ifndef RECORD_H
#define RECORD_H

#include "kindex.h"

/* The longest key of a row: that of a conflict row, which has an index key, a
 * mark and an owner in it (conflict_rows.h). */
enum { ROW_KEY_MAX = KX_KEY_MAX + 1 + KX_KEY_MAX };

/* A record in memory. The slices point into the stored bytes it was read from,
 * or to wherever the writer of the record has them. */
struct record {
    enum kx_encoding encoding;
    uint64_t stamp;
    int64_t expires_at_ms; /* 0: never */
    uint32_t index;        /* 0: an entry of a client's */
    uint16_t owner_at;
    bool odd;              /* which of the two forms this is */
    struct kx_slice other; /* bytes of the other one's record, if any */
    bool own; /* a copy whose stamp and bytes are not those of its owner */
    struct kx_slice owner; /* primary key after the prefix, when owner_at 0 */
    struct kx_slice media_type;
    struct kx_slice value;
};

/* False when the bytes are no record; slices point into them. */
bool record_read(struct kx_slice bytes, struct record *record_out);
/* Appends to out; whether memory sufficed is told by out->failed. */
void record_write(const struct record *record, struct kx_buffer *out);

/* The part of the primary key after the index's prefix that an index entry with
 * this key stands for. A slice of key or of the record. */
struct kx_slice record_owner(const struct record *record, struct kx_slice key);

/* Do these bytes begin the record of an index entry? */
bool record_of_index(struct kx_slice bytes);

static inline bool record_expired(const struct record *record, int64_t now_ms)
{
    return record->expires_at_ms != 0 && record->expires_at_ms <= now_ms;
}

/* The entry that a record under key shows to clients. Nothing is copied: it is
 * valid as long as key and record's bytes are. */
void record_show(const struct record *record, struct kx_slice key,
                 struct kx_entry *entry_out);
/* The same of its value alone. */
struct kx_value record_value(const struct record *record, struct kx_slice key);

#endif
