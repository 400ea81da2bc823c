/* The stored form of an entry: the data of a row of TABLE_ENTRIES. The record
 * of an index entry also has the id of its index and its owner, the entry that
 * it stands for.
 *
 *   1        bits 0-2: encoding, or 7: a job; bit 3: expires; bit 4: index
 *            entry; bits 5-7: size of the stamp less one
 *   1-8      versionstamp counter, without leading zero bytes
 *   8        expiry time in ms, if bit 3 is set
 *
 *   If the entry is a job that was claimed (struct kx_job):
 *   1        encoding
 *   8        not-before time in ms
 *   8        versionstamp of the claim, or 0
 *   4        attempts
 *   2 + n    size and text of the last error
 *
 *   If bit 4 is set:
 *   4        id of the index
 *   2        bits 0-11: position of the owner in the row's own key, or 0;
 *            bit 12: a tombstone; bit 13: a client's copy with another stamp
 *            (plan_adopt.h); bit 14: the record is the odd form; bit 15: the
 *            other form follows
 *   4 + n    size and record of the other form, if bit 15 is set
 *   2 + n    size and bytes of the owner, if its position is 0
 *
 *   1 + n    size and text of the media type, if the encoding is KX_BYTES
 *   n        the value, up to the end
 *
 * Numbers are little endian. While an index gets another `store`, its rows have
 * both forms (row_form.h).
 */
#ifndef RECORD_H
#define RECORD_H

#include "kindex.h"

/* A record in memory. Its slices point into the stored bytes from which it was
 * read, or into memory of the caller that writes it. */
struct record {
    enum kx_encoding encoding;
    uint64_t stamp;
    int64_t expires_at_ms; /* 0: never */
    uint32_t index;        /* 0: not an index entry */
    uint16_t owner_at;
    bool odd_form;         /* the record is the odd form (row_form.h) */
    struct kx_slice other; /* the other form's record, or empty */
    bool deleted; /* a tombstone: an index row that says that an entry is
                   * gone; it is removed when it expires */
    bool own;     /* a client's copy: stamp and bytes differ from the
                   * owner's */
    struct kx_slice owner; /* primary key after the prefix, if owner_at is 0 */
    bool has_job;          /* `job` is set; never for an index entry */
    struct kx_job job;
    struct kx_slice media_type;
    struct kx_slice value;
};

/* Reads a record, whose slices point into the bytes. False if the bytes are not
 * a record. */
bool record_read(struct kx_slice bytes, struct record *record_out);
/* Appends a record to out; out->failed if memory runs out. */
void record_write(const struct record *record, struct kx_buffer *out);

/* The owner of an index entry with this key: the parts of the primary key after
 * the index's prefix. The slice points into key or the record; it is empty if
 * the record is damaged. */
struct kx_slice record_owner(const struct record *record, struct kx_slice key);

/* True if the bytes begin the record of an index entry. */
bool record_of_index(struct kx_slice bytes);

/* A tombstone does not expire for readers: it is there until it is removed,
 * since the same batch notes what its absence means (plan_index.c). */
static inline bool record_expired(const struct record *record, int64_t now_ms)
{
    return record->expires_at_ms != 0 && record->expires_at_ms <= now_ms &&
           !record->deleted;
}

/* The entry as clients see it. Its slices point into key and the record's
 * bytes. */
void record_show(const struct record *record, struct kx_slice key,
                 struct kx_entry *entry_out);
/* Returns only the value that record_show would show. */
struct kx_value record_value(const struct record *record, struct kx_slice key);

#endif
