/* The declaration of an index: the JSON document of POST /indexes, checked,
 * with its defaults filled in. */
#ifndef DECLARATION_H
#define DECLARATION_H

#include "kindex.h"
#include "schema/casefold.h"

/* The version of the rules of extraction. It must be raised with every change
 * of the result for any value. Indexes that were built by other rules are then
 * rebuilt (catalog_rebuild). Before version 4, -0 and 0 were different values.
 */
enum { EXTRACT_SIGNED_ZERO = 3, EXTRACT_VERSION = 4 };

/* The source of one part of an index key. */
struct field {
    struct kx_slice path; /* JSON Pointer into the value, if key_part is 0 */
    size_t key_part;      /* number of a key part after the prefix, from 1 */
    enum fold fold;
    bool descending; /* greater values come first */
    bool each; /* the path leads to an array: an index entry for each element */
    bool versionstamp; /* neither path nor key part, but the versionstamp of the
                          last change */
    bool due; /* the last field of a queue: the later one of the time at the
                 path and the not-before time of the job */
};

/* Returns whether the source is a place in the value, and nothing else. */
static inline bool field_of_value(const struct field *field)
{
    return field->key_part == 0 && !field->versionstamp && !field->due;
}

enum index_store {
    STORE_POINTER,  /* the primary key's parts after the prefix */
    STORE_VALUE,    /* a copy of the whole value */
    STORE_FIELDS,   /* a JSON object with some of its members */
    STORE_AGGREGATE /* the totals of all entries with these fields */
};

/* The numbers at this path are summed up, as integers of 10^-scale. */
struct declared_sum {
    struct kx_slice path;
    size_t scale;
    bool of_sizes; /* no path: the bytes of keys and values, for a quota */
};

enum index_missing {
    MISSING_SKIP,  /* an entry that cannot be indexed is left out */
    MISSING_ERROR, /* a write of such an entry is refused */
    MISSING_NULL /* an entry without the field, or with null there, comes before
                    all others; other entries that cannot be indexed are left
                    out */
};

enum comparison {
    WHERE_EQ,
    WHERE_NE,
    WHERE_IN,
    WHERE_EXISTS,
    WHERE_GT,
    WHERE_GE,
    WHERE_LT,
    WHERE_LE
};

/* A condition on the value of an entry that is to be indexed. */
struct condition {
    struct kx_slice path;
    enum comparison comparison;
    bool exists;             /* of WHERE_EXISTS: the required result */
    struct kx_slice *values; /* encoded key parts; an empty one is null */
    size_t value_count;      /* 1, except of WHERE_IN and WHERE_EXISTS */
    size_t key_part;         /* of a query (query.h) only, as in a field */
    enum fold fold;
    bool each;
};

/* The member `queue`. */
struct declared_queue {
    bool declared; /* the index is a queue */
    int64_t lease_ms;
    int64_t retries_ms[KX_RETRIES_MAX]; /* pauses after failed attempts */
    size_t retry_count;
    struct kx_slice dead; /* encoded prefix of dead jobs; size 0: they stay */
};

struct rule;

/* Immutable after it is parsed, and shared by all threads that use its index.
 * All slices lie in its own talloc context. */
struct declaration {
    struct kx_slice name;                  /* ASCII */
    struct kx_slice name_key;              /* the name as an encoded key part */
    char name_text[KX_INDEX_NAME_MAX + 1]; /* NUL terminated, for texts */
    struct kx_slice prefix;                /* encoded parts */
    size_t depth; /* number of key parts after prefix; 0: any */
    struct field fields[KX_FIELDS_MAX];
    size_t field_count;
    size_t each;           /* the field with `each`, if has_each */
    bool has_each;         /* an entry may have any number of index entries */
    bool feed;             /* the last field is the versionstamp */
    int64_t tombstones_ms; /* for how long the index keeps removals; 0: it keeps
                              none */
    bool folds;       /* a field has a fold: keys depend on Unicode's version */
    bool signed_zero; /* uses the rules of EXTRACT_SIGNED_ZERO, until an index
                         by the present rules has replaced this one */
    bool unique;
    bool adopt; /* take over entries under the name; not part of the text */
    enum index_store store;
    struct kx_slice stored[KX_STORED_MAX]; /* JSON Pointers of STORE_FIELDS;
                                            * none covers another */
    size_t stored_count;
    struct declared_sum sums[KX_SUMS_MAX]; /* of STORE_AGGREGATE */
    size_t sum_count;
    enum index_missing missing;
    struct condition where[KX_WHERE_MAX]; /* all must hold */
    size_t where_count;
    struct declared_queue queue;
    struct rule *rule;    /* NULL: the declaration is of an index */
    struct kx_slice text; /* canonical JSON with all defaults: equal texts mean
                           * equal declarations */
};

/* Returns whether the index entries are totals of groups of entries. */
static inline bool declaration_aggregates(const struct declaration *declaration)
{
    return declaration->store == STORE_AGGREGATE;
}

/* Returns whether the key of an index entry ends with the key of its owner. */
static inline bool
declaration_ends_in_owner(const struct declaration *declaration)
{
    return !declaration->unique && !declaration_aggregates(declaration);
}

/* Reads a declaration into talloc context mem, from text that may be invalid
 * JSON. KX_OK; KX_BAD_JSON; KX_JSON_TOO_DEEP; KX_BAD_INDEX with pointer, detail
 * and perhaps suggestion; KX_NO_MEMORY. On errors nothing remains in mem. */
enum kx_status declaration_parse(void *mem, struct kx_slice text,
                                 struct declaration **declaration_out,
                                 struct kx_fault *fault);

/* Reads the declaration of a stored index; signed_zero says by which rules its
 * operands are read. KX_OK, KX_BAD_INDEX, KX_NO_MEMORY. */
enum kx_status declaration_parse_stored(void *mem, struct kx_slice text,
                                        bool signed_zero,
                                        struct declaration **declaration_out);

/* Appends the canonical JSON of a checked declaration to its text. KX_OK,
 * KX_NO_MEMORY. */
enum kx_status declaration_write(struct declaration *declaration);

/* Appends the members in which two declarations differ, as text for users. */
void declaration_difference(const struct declaration *have,
                            const struct declaration *want,
                            struct kx_buffer *out);

/* True if the index covers an entry with this key. */
bool declaration_covers(const struct declaration *declaration,
                        struct kx_slice key);

/* With STORE_FIELDS: true if an index entry holds this member of the value (a
 * JSON Pointer). */
bool declaration_stores(const struct declaration *declaration,
                        struct kx_slice member);

/* Returns whether some key may begin with the parts of both prefixes. */
static inline bool declaration_prefixes_overlap(struct kx_slice a,
                                                struct kx_slice b)
{
    struct kx_slice shorter = a.size < b.size ? a : b;
    struct kx_slice longer = a.size < b.size ? b : a;
    return kx_starts_with(longer, shorter) &&
           (shorter.size == 0 || shorter.size == longer.size ||
            longer.data[shorter.size] != 0xff);
}

/* Returns the name of a comparison's member, such as "eq". A constant. */
const char *declaration_comparison(enum comparison comparison);

#endif
