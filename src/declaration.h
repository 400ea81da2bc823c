/* What a client declares about an index: the JSON document of POST /indexes,
 * checked, with its defaults filled in.
 */
#ifndef DECLARATION_H
#define DECLARATION_H

#include "fold.h"
#include "kindex.h"

struct field {
    struct kx_slice path; /* JSON Pointer */
    enum fold fold;
};

enum index_store {
    STORE_POINTER, /* the primary key's parts after the prefix */
    STORE_VALUE    /* a copy of the whole value */
};

/* Immutable once it is parsed, and shared by all threads that look at its
 * index. All slices lie in its own talloc context. */
struct declaration {
    struct kx_slice name;     /* UTF-8 */
    struct kx_slice name_key; /* the name as an encoded key part */
    struct kx_slice prefix;   /* encoded parts */
    size_t depth;             /* exactly so many parts after prefix; 0: any */
    struct field fields[KX_FIELDS_MAX];
    size_t field_count;
    bool unique;
    enum index_store store;
    struct kx_slice text; /* canonical JSON with all defaults: equal texts are
                           * equal declarations */
};

/* Reads a declaration into talloc context mem. KX_BAD_JSON, KX_JSON_TOO_DEEP,
 * KX_BAD_INDEX with pointer and detail, KX_NO_MEMORY; then nothing is left in
 * mem. The text need not be checked before. */
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

#endif
