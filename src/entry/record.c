/* Reads and writes the stored form of an entry (record.h describes it). Reading
 * copies nothing. Lengths are checked, so that damaged bytes are detected;
 * callers treat a row that cannot be read as a failure of the storage. */
#include "entry/record.h"

#include <endian.h>

enum {
    ENCODING_MASK = 0x07,
    JOB = 0x07, /* in place of the encoding */
    EXPIRES = 0x08,
    INDEX_ENTRY = 0x10,
    STAMP_SHIFT = 5,
    /* Bits of the two bytes with the owner's position. */
    OWNER_MASK = 0x0fff,
    TOMBSTONE = 0x1000,
    OWN_STAMP = 0x2000,
    ODD_FORM = 0x4000,
    OTHER_FORM = 0x8000
};

/* Takes at most 8 bytes, which rest must have. Inline, because a constant size
 * becomes one load: this runs several times for each entry of a list. */
static inline uint64_t take(struct kx_slice *rest, size_t size)
{
    uint64_t number = 0;
    memcpy(&number, rest->data, size);
    rest->data += size;
    rest->size -= size;
    return le64toh(number);
}

/* As take, for a size that is not a constant. */
static uint64_t take_stamp(struct kx_slice *rest, size_t size)
{
    enum { WORD = sizeof(uint64_t) };
    if (rest->size < WORD || size == WORD)
        return take(rest, size);
    struct kx_slice word = *rest;
    rest->data += size;
    rest->size -= size;
    return take(&word, WORD) & ((UINT64_C(1) << (8 * size)) - 1);
}

static inline bool take_slice(struct kx_slice *rest, size_t length_size,
                              struct kx_slice *out)
{
    if (rest->size < length_size)
        return false;
    size_t size = take(rest, length_size);
    if (rest->size < size)
        return false;
    *out = kx_slice(rest->data, size);
    rest->data += size;
    rest->size -= size;
    return true;
}

/* An owner that is part of the row's key is found by record_owner. */
static bool read_owner(struct kx_slice *rest, struct record *record)
{
    if (rest->size < 6)
        return false;
    record->index = (uint32_t)take(rest, 4);
    unsigned owner = (unsigned)take(rest, 2);
    record->owner_at = (uint16_t)(owner & OWNER_MASK);
    record->deleted = (owner & TOMBSTONE) != 0;
    record->own = (owner & OWN_STAMP) != 0;
    record->odd_form = (owner & ODD_FORM) != 0;
    if ((owner & OTHER_FORM) != 0 && !take_slice(rest, 4, &record->other))
        return false;
    return record->owner_at != 0 || take_slice(rest, 2, &record->owner);
}

/* Also reads the encoding, which follows the head of a job. */
static bool read_job(struct kx_slice *rest, struct record *record)
{
    enum { FIXED = 1 + 8 + 8 + 4 };
    if (rest->size < FIXED)
        return false;
    record->encoding = (enum kx_encoding)take(rest, 1);
    record->job.not_before_ms = (int64_t)take(rest, 8);
    record->job.claim = take(rest, 8);
    record->job.attempts = (uint32_t)take(rest, 4);
    record->has_job = take_slice(rest, 2, &record->job.error);
    return record->has_job;
}

/* Sets the members one by one: this runs for each entry of a list, and clearing
 * or copying the whole struct takes several times as long. */
bool record_read(struct kx_slice bytes, struct record *record_out)
{
    if (bytes.size == 0)
        return false;
    struct kx_slice rest = bytes;
    uint8_t head = (uint8_t)take(&rest, 1);
    size_t stamp_size = (size_t)(head >> STAMP_SHIFT) + 1;
    if (rest.size < stamp_size + ((head & EXPIRES) != 0 ? 8 : 0))
        return false;
    const struct kx_slice none = kx_slice(NULL, 0);
    record_out->encoding = head & ENCODING_MASK;
    record_out->stamp = take_stamp(&rest, stamp_size);
    record_out->expires_at_ms =
        (head & EXPIRES) != 0 ? (int64_t)take(&rest, 8) : 0;
    record_out->index = 0;
    record_out->owner_at = 0;
    record_out->odd_form = record_out->own = record_out->deleted = false;
    record_out->has_job = false;
    record_out->other = record_out->owner = record_out->media_type = none;
    if ((head & ENCODING_MASK) == JOB && !read_job(&rest, record_out))
        return false;
    if ((head & INDEX_ENTRY) != 0 && !read_owner(&rest, record_out))
        return false;
    if (record_out->encoding == KX_BYTES &&
        !take_slice(&rest, 1, &record_out->media_type))
        return false;
    record_out->value = rest;
    return true;
}

static void put(struct kx_buffer *out, uint64_t number, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
    kx_add(out, bytes, size);
}

static size_t significant_bytes(uint64_t number)
{
    return number == 0 ? 1 : (size_t)(71 - __builtin_clzll(number)) / 8;
}

static void put_owner(struct kx_buffer *out, const struct record *record)
{
    unsigned owner = record->owner_at;
    if (record->deleted)
        owner |= TOMBSTONE;
    if (record->own)
        owner |= OWN_STAMP;
    if (record->odd_form)
        owner |= ODD_FORM;
    if (record->other.size != 0)
        owner |= OTHER_FORM;
    put(out, record->index, 4);
    put(out, owner, 2);
    if (record->other.size != 0) {
        put(out, record->other.size, 4);
        kx_add_slice(out, record->other);
    }
    if (record->owner_at == 0) {
        put(out, record->owner.size, 2);
        kx_add_slice(out, record->owner);
    }
}

static void put_job(struct kx_buffer *out, const struct record *record)
{
    put(out, record->encoding, 1);
    put(out, (uint64_t)record->job.not_before_ms, 8);
    put(out, record->job.claim, 8);
    put(out, record->job.attempts, 4);
    put(out, record->job.error.size, 2);
    kx_add_slice(out, record->job.error);
}

void record_write(const struct record *record, struct kx_buffer *out)
{
    size_t stamp_size = significant_bytes(record->stamp);
    unsigned kind = record->has_job ? JOB : (unsigned)record->encoding;
    unsigned head = kind | (unsigned)(stamp_size - 1) << STAMP_SHIFT;
    if (record->expires_at_ms != 0)
        head |= EXPIRES;
    if (record->index != 0)
        head |= INDEX_ENTRY;
    kx_add_byte(out, (uint8_t)head);
    put(out, record->stamp, stamp_size);
    if (record->expires_at_ms != 0)
        put(out, (uint64_t)record->expires_at_ms, 8);
    if (record->has_job)
        put_job(out, record);
    if (record->index != 0)
        put_owner(out, record);
    if (record->encoding == KX_BYTES) {
        put(out, record->media_type.size, 1);
        kx_add_slice(out, record->media_type);
    }
    kx_add_slice(out, record->value);
}

struct kx_slice record_owner(const struct record *record, struct kx_slice key)
{
    if (record->owner_at == 0)
        return record->owner;
    if (record->owner_at > key.size)
        return kx_slice(NULL, 0);
    return kx_slice(key.data + record->owner_at, key.size - record->owner_at);
}

static void show_value(const struct record *record, struct kx_slice key,
                       struct kx_value *value_out)
{
    value_out->encoding = record->encoding;
    value_out->media_type = record->media_type;
    value_out->data = record->encoding == KX_POINTER ? record_owner(record, key)
                      : record->deleted              ? kx_text("null")
                                                     : record->value;
}

void record_show(const struct record *record, struct kx_slice key,
                 struct kx_entry *entry_out)
{
    entry_out->key = key;
    entry_out->stamp = record->stamp;
    entry_out->expires_at_ms = record->deleted ? 0 : record->expires_at_ms;
    entry_out->deleted = record->deleted;
    entry_out->reduced = false;
    entry_out->has_job = record->has_job;
    if (record->has_job)
        entry_out->job = record->job;
    show_value(record, key, &entry_out->value);
}

struct kx_value record_value(const struct record *record, struct kx_slice key)
{
    struct kx_value value;
    show_value(record, key, &value);
    return value;
}

bool record_of_index(struct kx_slice bytes)
{
    return bytes.size > 0 && (bytes.data[0] & INDEX_ENTRY) != 0;
}
