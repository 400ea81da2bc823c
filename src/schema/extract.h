/* Extraction: the keys and records of the index entries of one entry. It
 * depends only on declaration, key and record, so a rebuild gives the same
 * index entries as maintenance by each write. */
#ifndef EXTRACT_H
#define EXTRACT_H

#include "base/charge.h"
#include "entry/record.h"
#include "schema/declaration.h"
#include "schema/index_document.h"

/* One index key: its position in the extraction's bytes, and the position of
 * the owner in the key (0 for a unique or aggregate index). */
struct index_key {
    uint32_t at;
    uint16_t size;
    uint16_t owner_at;
};

/* The reason why an entry cannot be indexed. */
enum obstacle {
    OBSTACLE_NONE,
    OBSTACLE_MISSING, /* nothing is at the path */
    OBSTACLE_TYPE,    /* null, an array or an object */
    OBSTACLE_DUE, /* a queue's entry has neither milliseconds nor a time of RFC
                   * 3339 where it is due */
    OBSTACLE_NO_ARRAY,  /* a field with each, but no array */
    OBSTACLE_NO_PART,   /* the key has no such part */
    OBSTACLE_NO_NUMBER, /* a sum has a value that is not a number */
    OBSTACLE_DIGITS, /* the number has more decimals than the scale, or too many
                      * digits */
    OBSTACLE_TOO_LONG, /* the index key would be too long */
    OBSTACLE_TOO_MANY  /* an array has too many elements */
};

/* The index entries of one entry. The buffers are reused for one entry after
 * another. An extraction is used by one thread at a time. */
struct extract {
    /* Set by the last extract_keys or extract_one. */
    const struct declaration *declaration;
    struct kx_slice key;
    const struct record *record;
    struct kx_buffer bytes; /* the index keys */
    struct index_key *keys; /* in key order, without duplicates */
    size_t count;
    bool excluded;          /* `where` does not hold */
    enum obstacle obstacle; /* the first one, also if the entry is skipped */
    size_t field;           /* of the obstacle; from field_count on: a sum */
    size_t element; /* of the obstacle; OBSTACLE_TOO_MANY: their number */
    struct charge *charge; /* pays for the bytes that are passed over and the
                            * keys that are made; NULL, as extract_init leaves
                            * it: not counted */
    /* Internal. */
    size_t capacity;
    struct kx_slice only;     /* the only key that is kept; size 0: keep all */
    struct kx_slice document; /* size 0: the value has no members */
    struct index_document decoded; /* the document of a V8 value */
    struct kx_buffer scratch;      /* conditions; the key parts after `each` */
    struct kx_buffer stored;       /* value of STORE_FIELDS, empty until needed;
                                    * what the entry adds to STORE_AGGREGATE */
    enum kx_encoding stored_encoding;
};

/* Initializes an empty extraction, which allocates under owner (a talloc
 * context). */
void extract_init(struct extract *extract, void *owner);

/* Finds the index keys of a covered entry; key and record must stay valid as
 * long as the extraction is used for them. KX_OK, with any number of keys. With
 * `missing` skip, keys that cannot be made are left out: a field is missing or
 * has a type without an order, or the index key would be longer than
 * KX_KEY_MAX. KX_NOT_INDEXABLE, with the obstacle and without keys: an array
 * has too many elements, a job is due at no time, or a key cannot be made and
 * `missing` is error. KX_NO_MEMORY. */
enum kx_status extract_keys(struct extract *extract,
                            const struct declaration *declaration,
                            struct kx_slice key, const struct record *record);

/* Does what extract_keys does, but keeps only this index key, if the entry has
 * it. The keys of other array elements are not kept, and are no obstacle if
 * they are too long. KX_OK; KX_NOT_INDEXABLE, also if the entry does not have
 * the key; KX_NO_MEMORY. */
enum kx_status extract_one(struct extract *extract,
                           const struct declaration *declaration,
                           struct kx_slice key, const struct record *record,
                           struct kx_slice index_key);

/* Returns the n-th key, in the extraction's memory. */
static inline struct kx_slice extract_key(const struct extract *extract,
                                          size_t n)
{
    return kx_slice(extract->bytes.data + extract->keys[n].at,
                    extract->keys[n].size);
}

/* Returns the number of this key; extract->count if the key is not among the
 * keys. */
size_t extract_find(const struct extract *extract, struct kx_slice key);

/* Fills *record_out with the n-th index entry: index, owner, encoding, value
 * and expiry. The caller sets the stamp. The slices point into key, record and
 * extraction. KX_OK, KX_NO_MEMORY. */
enum kx_status extract_record(struct extract *extract, size_t n, uint32_t index,
                              struct record *record_out);

/* The position of a job in its queue. */
struct extract_due {
    struct kx_slice group; /* the name and the values of the leading fields */
    int64_t ms;            /* Unix time when the job is due */
};
/* Reads the position from the key of a queue's row. False if the key is
 * damaged. The slice lies in key. */
bool extract_due(struct kx_slice key, const struct record *row,
                 struct extract_due *due_out);

/* Returns the totals that the entry adds to an aggregate index under each of
 * its keys (totals.h). In the extraction's memory. */
static inline struct kx_slice extract_totals(const struct extract *extract)
{
    return kx_buffer_slice(&extract->stored);
}

/* Makes further records by another declaration, which may differ only in
 * `store`. */
static inline void extract_as(struct extract *extract,
                              const struct declaration *declaration)
{
    extract->declaration = declaration;
    extract->stored.size = 0;
}

/* Notes the first obstacle of an entry: KX_ABSENT. */
static inline enum kx_status extract_obstructed(struct extract *extract,
                                                enum obstacle obstacle,
                                                size_t field)
{
    if (extract->obstacle == OBSTACLE_NONE) {
        extract->obstacle = obstacle;
        extract->field = field;
    }
    return KX_ABSENT;
}

/* Returns why the entry has no index key. Call only if extract_keys has found
 * none. */
enum kx_left_out extract_left_out(const struct extract *extract);

/* Appends one sentence on the obstacle to detail, and the JSON Pointer of the
 * value concerned to field_out. field_out stays empty for a part of the key and
 * for a key that is too long. */
void extract_describe(const struct extract *extract, struct kx_buffer *detail,
                      struct kx_buffer *field_out);

/* Replaces key_out by the beginning of the index keys that a client looks for.
 * parts are the encoded values of the first fields, or of all fields followed
 * by parts of the owner's key. Text is folded as the fields declare, -0 becomes
 * 0 in fields of the value, and values of descending fields are turned over.
 * KX_OK, KX_BAD_KEY, KX_NO_MEMORY. */
enum kx_status extract_lookup(const struct declaration *declaration,
                              struct kx_slice parts, struct kx_buffer *key_out);

/* Appends the values of the fields of which an index key has been made: parts
 * are those of the key after the index's name, or the first of them. Values of
 * descending fields are turned back; folded text stays as it is. Without memory
 * out is marked as failed. */
void extract_lookup_values(const struct declaration *declaration,
                           struct kx_slice parts, struct kx_buffer *out);

#endif
