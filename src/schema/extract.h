/* What an index's declaration takes out of an entry: the keys and records of
 * its index entries. A pure function of declaration, key and value, so that a
 * rebuild from the data gives the same entries as upkeep by each write.
 */
#ifndef EXTRACT_H
#define EXTRACT_H

#include "schema/declaration.h"
#include "schema/index_document.h"
#include "entry/record.h"

/* Of the rules by which entries are made from values. Whoever changes what an
 * extraction gives for any value raises it: a store's indexes that were made by
 * other rules are then built anew (catalog_rebuild). */
enum { EXTRACT_VERSION = 3 };

/* One index key: where it lies in the extraction's bytes, and where in it the
 * owner begins (0 for a unique index). */
struct index_key {
    uint32_t at;
    uint16_t size;
    uint16_t owner_at;
};

/* Why an entry cannot be indexed. */
enum obstacle {
    OBSTACLE_NONE,
    OBSTACLE_MISSING,  /* there is nothing at the path */
    OBSTACLE_TYPE,     /* null, an array or an object */
    OBSTACLE_NO_ARRAY, /* of a field with each */
    OBSTACLE_NO_PART,  /* the key has no such part */
    OBSTACLE_TOO_LONG, /* the index key would be */
    OBSTACLE_TOO_MANY  /* elements */
};

/* The index entries of one entry. Its buffers serve one entry after the other;
 * only the writer, or one reader, uses an extraction. */
struct extract {
    /* Of the last extract_keys. */
    const struct declaration *declaration;
    struct kx_slice key;
    const struct record *record;
    struct kx_buffer bytes; /* the index keys */
    struct index_key *keys; /* in key order, each once */
    size_t count;
    bool excluded;          /* `where` does not hold */
    enum obstacle obstacle; /* the first one, also when it is skipped */
    size_t field;           /* where it is */
    size_t element;         /* OBSTACLE_TOO_MANY: how many there are */
    /* Its own. */
    size_t capacity;
    struct kx_slice sought;   /* the only key that is kept; size 0: all are */
    struct kx_slice document; /* size 0: the value has no members */
    struct index_document decoded; /* where it had to be made */
    struct kx_buffer scratch;      /* conditions; the parts behind `each` */
    struct kx_buffer stored;       /* value of STORE_FIELDS, once it is made */
    enum kx_encoding stored_encoding;
};

/* An empty extraction whose memory is owner's (a talloc context). */
void extract_init(struct extract *extract, void *owner);

/* Finds the index keys of a covered entry; key and record must stay as long as
 * the extraction is used for them. KX_OK, with any number of keys: with
 * `missing` skip, what cannot be indexed (a field is missing or has a type
 * without a place in the order, an index key would be longer than KX_KEY_MAX)
 * is left out. KX_NOT_INDEXABLE, with the obstacle: the declaration says that
 * nothing may be left out, or an array has too many elements; there are no keys
 * then. KX_NO_MEMORY. */
enum kx_status extract_keys(struct extract *extract,
                            const struct declaration *declaration,
                            struct kx_slice key, const struct record *record);

/* The same for who knows a key already and asks whether the entry has it: it is
 * the only one then. The other elements of an array are neither kept nor
 * sorted, nor does one that is too long count. KX_NOT_INDEXABLE: the entry has
 * not got it. */
enum kx_status extract_one(struct extract *extract,
                           const struct declaration *declaration,
                           struct kx_slice key, const struct record *record,
                           struct kx_slice index_key);

/* The n-th key, in the extraction's memory. */
static inline struct kx_slice extract_key(const struct extract *extract,
                                          size_t n)
{
    return kx_slice(extract->bytes.data + extract->keys[n].at,
                    extract->keys[n].size);
}

/* Which of the keys this is; extract->count when it is none of them. */
size_t extract_find(const struct extract *extract, struct kx_slice key);

/* The record of the n-th index entry: index, owner, encoding, value and expiry;
 * the stamp is the caller's. Its slices lie in key, record and extraction.
 * KX_OK, KX_NO_MEMORY. */
enum kx_status extract_record(struct extract *extract, size_t n, uint32_t index,
                              struct record *record_out);

/* The records made from now on are those of another declaration, which differs
 * in `store` only. */
static inline void extract_as(struct extract *extract,
                              const struct declaration *declaration)
{
    extract->declaration = declaration;
    extract->stored.size = 0;
}

/* Says in one sentence what the obstacle is; field_out gets the JSON Pointer of
 * the value concerned, appended, which stays empty for a part of the key. */
void extract_describe(const struct extract *extract, struct kx_buffer *detail,
                      struct kx_buffer *field_out);

/* Replaces key_out by the index key for what a client looks for (encoded values
 * of the fields from the first on, perhaps not of all, perhaps followed by
 * parts of the owner's key): text is folded as the fields declare. KX_OK,
 * KX_BAD_KEY, KX_NO_MEMORY. */
enum kx_status extract_lookup(const struct declaration *declaration,
                              struct kx_slice parts, struct kx_buffer *key_out);

#endif
