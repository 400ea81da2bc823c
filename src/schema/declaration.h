/* What a client declares about an index: the JSON document of POST /indexes,
 * checked, with its defaults filled in.
 */
#ifndef DECLARATION_H
#define DECLARATION_H

#include "schema/casefold.h"
#include "kindex.h"

/* What one part of an index key is taken from. */
struct field {
    struct kx_slice path; /* JSON Pointer into the value, when key_part is 0 */
    size_t key_part;      /* the so many-th key part after the prefix, from 1 */
    enum fold fold;
    bool each; /* path leads to an array: an index entry for each element */
};

enum index_store {
    STORE_POINTER, /* the primary key's parts after the prefix */
    STORE_VALUE,   /* a copy of the whole value */
    STORE_FIELDS   /* a JSON object of some of its members */
};

enum index_missing {
    MISSING_SKIP, /* what cannot be indexed is left out */
    MISSING_ERROR /* it is refused */
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
    bool exists;             /* of WHERE_EXISTS: what must be so */
    struct kx_slice *values; /* encoded key parts; an empty one is null */
    size_t value_count;      /* 1, except of WHERE_IN and WHERE_EXISTS */
    size_t key_part;         /* of a question (query.h) only, as in a field */
    enum fold fold;
    bool each;
};

/* Immutable once it is parsed, and shared by all threads that look at its
 * index. All slices lie in its own talloc context. */
struct declaration {
    struct kx_slice name;                  /* ASCII */
    struct kx_slice name_key;              /* the name as an encoded key part */
    char name_text[KX_INDEX_NAME_MAX + 1]; /* as it was declared, for texts */
    struct kx_slice prefix;                /* encoded parts */
    size_t depth; /* exactly so many parts after prefix; 0: any */
    struct field fields[KX_FIELDS_MAX];
    size_t field_count;
    size_t each;   /* the field that is `each`, or field_count */
    bool has_each; /* entries may have any number of index entries */
    bool folds; /* some field does: the entries depend on Unicode's version */
    bool unique;
    bool adopt; /* what is under the name already; not part of the text */
    enum index_store store;
    struct kx_slice stored[KX_STORED_MAX]; /* JSON Pointers of STORE_FIELDS;
                                            * none begins another */
    size_t stored_count;
    enum index_missing missing;
    struct condition where[KX_WHERE_MAX]; /* all must hold */
    size_t where_count;
    struct kx_slice text; /* canonical JSON with all defaults: equal texts are
                           * equal declarations */
};

/* Reads a declaration into talloc context mem. KX_BAD_JSON, KX_JSON_TOO_DEEP,
 * KX_BAD_INDEX with pointer, detail and perhaps suggestion, KX_NO_MEMORY; then
 * nothing is left in mem. The text need not be checked before. */
enum kx_status declaration_parse(void *mem, struct kx_slice text,
                                 struct declaration **declaration_out,
                                 struct kx_fault *fault);

/* Describes the members in which two declarations differ, for a person. */
void declaration_difference(const struct declaration *have,
                            const struct declaration *want,
                            struct kx_buffer *out);

/* Is an entry with this key one that the index covers? */
bool declaration_covers(const struct declaration *declaration,
                        struct kx_slice key);

/* Does an index entry hold this member of the value (a JSON Pointer)? Of
 * STORE_FIELDS. */
bool declaration_stores(const struct declaration *declaration,
                        struct kx_slice member);

/* The member's name of a comparison, such as "eq". A constant. */
const char *declaration_comparison(enum comparison comparison);

#endif
