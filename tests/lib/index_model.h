/* What indexes must hold, computed without the core: a model of random
 * declarations over entries whose values come from a small table. The model has
 * flaws that can be switched on, to see that a test notices them. */
#ifndef INDEX_MODEL_H
#define INDEX_MODEL_H

#include "store.h"

/* ---- Values ------------------------------------------------------------- */

/* A JSON value and the key part that it is, plain and folded, as JSON arrays of
 * one part; NULL when it cannot be indexed. */
struct sample_value {
    const char *json;
    const char *parts[3]; /* none, lower, casefold */
    char type;            /* two of one type can be greater and less */
    int tenths;           /* the number times ten, which a sum takes */
};

enum {
    PLAIN = 14,   /* so many of sample_values, from the first, are no objects */
    ELEMENTS = 4, /* of an array */
    NO_NUMBER = 1 << 20 /* in place of tenths: a sum takes nothing */
};

extern const struct sample_value sample_values[];

/* A document: NULL where a member is missing. */
struct written {
    bool json; /* else it is bytes */
    const struct sample_value *a;
    const struct sample_value *b;
    bool n; /* the object of x */
    const struct sample_value *x;
    const struct sample_value *t[ELEMENTS]; /* of an array */
    int t_count;                            /* -1: t is no array */
    const struct sample_value *t_other;     /* what it is then */
    uint64_t stamp; /* of the last commit that has written it */
};

/* Its values are members of sample_values. */
struct written random_document(uint64_t *seed);

/* The document as JSON text in mem, also when it is to be stored as bytes. */
char *document_json(void *mem, const struct written *document);

/* ---- Declarations ------------------------------------------------------- */

/* Where the value of a field comes from. */
enum field_source {
    FROM_A,
    FROM_B,
    FROM_X,
    FROM_KEY_1,
    FROM_KEY_2,
    FROM_T,
    FROM_STAMP /* only as the last */
};

/* A declaration of an index over the prefix ["p"]. */
struct index_shape {
    char name[16];
    enum field_source fields[3];
    int folds[3];
    bool descending[3];
    size_t field_count;
    bool unique;
    int store; /* pointer, value, fields */
    bool store_x;
    bool aggregate; /* it counts the entries; set by the caller */
    bool sum;       /* and adds up their numbers at x */
    bool error;
    bool null; /* what an entry lacks is indexed before all others */
    bool deep; /* depth 2 */
    int where; /* a row of `comparisons`, or -1 */
    enum field_source where_field;
    const struct sample_value *operand;
    bool must_exist;
};

/* The index is called i<n>. */
struct index_shape random_shape(uint64_t *seed, size_t n);

/* The declaration as JSON text in mem. */
char *shape_json(void *mem, const struct index_shape *shape);

/* The condition of a declaration that has one, as JSON text in mem, and whether
 * the document meets it. */
char *condition_json(void *mem, const struct index_shape *shape);
bool meets_condition(void *mem, const struct index_shape *shape,
                     const struct written *document);

/* ---- What an index has of one entry ------------------------------------- */

/* Ways in which the model can be wrong, each like a mistake of an index. */
enum model_flaw {
    FLAW_NONE,
    FLAW_FOLD,   /* text is not folded */
    FLAW_ORDER,  /* descending fields are as others */
    FLAW_NULL,   /* what an entry lacks is not indexed */
    FLAW_EACH,   /* only the first element is taken */
    FLAW_WHERE,  /* the condition is not looked at */
    FLAW_STORED, /* a stored member is left out */
    FLAW_EXPIRY, /* what has expired stays */
    FLAW_STALE,  /* the last commit's changes are missing */
    FLAW_ERROR,  /* nothing is refused as not indexable */
    FLAW_UNIQUE, /* nor as a duplicate */
    FLAW_CHECK,  /* nor for a check */
    FLAW_STAMP,  /* the versionstamp of an older commit is taken */
    FLAW_TOUCH,  /* a touch leaves the time as it is */
    FLAW_SUM,    /* a number has the wrong sign */
    FLAWS
};

/* The keys of the entries: each number without a suffix, and with each. The
 * slots are in the order of their keys. */
enum { NUMBERS = 8, SUFFIXES = 4, SLOTS = NUMBERS * SUFFIXES };

struct kx_slice slot_key(void *mem, size_t slot);

/* Field values of an entry, encoded. */
struct values {
    struct kx_buffer list[ELEMENTS];
    size_t count;
};

/* The number that an index of sums takes from an entry, times ten, or
 * NO_NUMBER. */
int summed_tenths(const struct written *document);

/* The values under which an index has an entry. `bad`: something was left
 * out. */
struct values index_values(void *mem, const struct index_shape *shape,
                           const struct written *document, size_t slot,
                           enum model_flaw flaw, bool *bad);

/* What a store of fields holds. */
char *stored_json(void *mem, const struct index_shape *shape,
                  const struct written *document, enum model_flaw flaw);

#endif
