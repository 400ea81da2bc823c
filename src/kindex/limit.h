/* Limits. Each has the same name, with dashes, in openapi.yaml and in errors.
 */
#ifndef KINDEX_LIMIT_H
#define KINDEX_LIMIT_H

enum kx_limit {
    KX_KEY_MAX = 2048,       /* encoded bytes of a key that is written */
    KX_KEY_BOUND_MAX = 2049, /* encoded bytes of the end of a range */
    KX_BIGINT_MAX = 255,     /* magnitude bytes of a bigint part */
    KX_JSON_DEPTH_MAX = 64,  /* arrays and objects inside each other */
    KX_MEDIA_TYPE_MAX = 127, /* bytes of a stored media type */
    KX_CHECKS_MAX = 1000,    /* checks of one commit */
    KX_MUTATIONS_MAX = 1000, /* mutations of one commit */
    KX_PAGE_MAX = 1000,      /* entries of one page of a list */
    KX_RANGES_MAX = 64,      /* ranges of one list */
    KX_PREVIEW_MAX = 4096,   /* bytes of a value that a list previews */
    KX_INDEX_NAME_MAX = 128, /* bytes of an index name */
    KX_INDEXES_MAX = 256,    /* declared indexes of a store */
    KX_RULES_MAX = 64,       /* rules of a store */
    KX_REFERENCES_MAX = 8,   /* references of one rule */
    KX_REFERRING_MAX = 1000, /* entries that one commit deletes or clears
                              * because of references */
    KX_REFERRING_COUNT_MAX = 100000, /* referring entries that a refusal counts
                                      */
    KX_DECLARATION_MAX = 65536,  /* bytes of a declaration with its defaults */
    KX_V8_DEPTH_MAX = 1000,      /* objects inside each other in a V8 value */
    KX_V8_SIZE_MAX = 1073741824, /* bytes of a V8 value */
    KX_V8_BIGINT_MAX = 4096,     /* bytes of a bigint operand */
    KX_FIELDS_MAX = 16,          /* fields of one index */
    KX_PROJECTION_MAX = 16,      /* members that a read asks for */
    KX_STORED_MAX = 16,       /* members that the entries of an index store */
    KX_SUMS_MAX = 8,          /* sums of one index */
    KX_SCALE_MAX = 20,        /* decimals of a sum */
    KX_SUM_DIGITS_MAX = 400,  /* digits of a number that is summed up */
    KX_WHERE_MAX = 16,        /* conditions of one index */
    KX_WHERE_VALUES_MAX = 64, /* values of an `in` */
    KX_MATCH_MAX = 1048576,   /* bytes of the conditions of a query, times the
                               * indexes that they are compared with */
    KX_POINTER_MAX = 512,     /* bytes of a JSON Pointer */
    KX_RETRIES_MAX = 32,      /* pauses before further attempts of a job */
    KX_JOB_ERROR_MAX = 1024,  /* bytes of the error of a job */
    KX_INDEX_ENTRIES_MAX = 1000,     /* entries of one index for one entry */
    KX_COMMIT_UNITS_MAX = 150000000, /* units of work of one commit
                                      * (base/charge.h); more if the store takes
                                      * larger values than by default */
    KX_COMMIT_RESULTS_MAX = 8388608, /* bytes of the entries that one commit
                                      * returns, without the last */
    KX_FOUND_MAX = 1024,             /* bytes of a value that a failed check
                                      * shows */
    KX_SAMPLES_MAX = 5,              /* keys shown as examples in a report */
    KX_SAMPLE_KEY_MAX = 256,         /* encoded bytes of such a key */
    KX_WATCH_KEYS_MAX = 100,         /* keys of one watch */
    KX_WATCH_CHANGES_MAX = 1000,     /* changes pending in a prefix watch */
    KX_BACKUPS_MAX = 4,              /* backups being made at a time */
    KX_OUTCOME_VALUES_MAX = 16384,   /* bytes of values that the outcome of a
                                      * commit under a key keeps */
    KX_IDEMPOTENCY_KEY_MAX = 300,    /* bytes of an idempotency key */
    KX_TOKENS_MAX = 10000,           /* tokens of a store */
    KX_GRANTS_MAX = 32,              /* grants of one token */
    KX_GRANTS_BYTES_MAX = 4096,      /* encoded bytes of their prefixes */
    KX_TOKEN_NAME_MAX = 128,         /* bytes of a token's name */
    KX_DETAIL_MAX = 512 /* bytes of a fault's detail, with its NUL */
};
#define KX_VALUE_MAX_DEFAULT (1u << 20) /* bytes of one value */

#endif
