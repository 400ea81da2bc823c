/* The query parameters of a request, and its key. Each handler names the set of
 * parameters that it takes. Other parameters and repeated ones are errors,
 * because a misspelt ?revrse=1 must not be ignored. Functions with an error
 * return false after setting it. */
#ifndef API_QUERY_PARAMS_H
#define API_QUERY_PARAMS_H

#include "http/input_error.h"

enum parameter {
    PARAMETER_KEY,
    PARAMETER_TTL,
    PARAMETER_PREFIX,
    PARAMETER_START,
    PARAMETER_END,
    PARAMETER_REVERSE,
    PARAMETER_LIMIT,
    PARAMETER_CURSOR,
    PARAMETER_KEYS,
    PARAMETER_INDEX,
    PARAMETER_VERBOSE,
    PARAMETER_FIELDS,
    PARAMETER_DRY,
    PARAMETER_PAUSED,
    PARAMETER_PRUNE,
    PARAMETER_DECLARATIONS,
    PARAMETER_REPAIR,
    PARAMETER_VERSIONSTAMPS,
    PARAMETER_NEW,
    PARAMETER_ESTIMATE,
    PARAMETER_SHARE,
    PARAMETER_PREVIEW,
    PARAMETER_WHERE,
    PARAMETER_IN,
    PARAMETER_ORDER,
    PARAMETER_STEP,
    PARAMETER_SINCE,
    PARAMETER_CONSISTENCY,
    PARAMETER_WAIT,
    PARAMETER_NOW,
    PARAMETER_DIGEST,
    PARAMETER_EXPAND,
    PARAMETER_COUNT /* of parameters; not one itself */
};

/* Members of the set that a handler takes, one bit for each parameter. */
enum parameter_bit {
    TAKES_NOTHING = 0,
    TAKES_KEY = 1 << PARAMETER_KEY,
    TAKES_TTL = 1 << PARAMETER_TTL,
    TAKES_PREFIX = 1 << PARAMETER_PREFIX,
    TAKES_START = 1 << PARAMETER_START,
    TAKES_END = 1 << PARAMETER_END,
    TAKES_REVERSE = 1 << PARAMETER_REVERSE,
    TAKES_LIMIT = 1 << PARAMETER_LIMIT,
    TAKES_CURSOR = 1 << PARAMETER_CURSOR,
    TAKES_KEYS = 1 << PARAMETER_KEYS,
    TAKES_INDEX = 1 << PARAMETER_INDEX,
    TAKES_VERBOSE = 1 << PARAMETER_VERBOSE,
    TAKES_FIELDS = 1 << PARAMETER_FIELDS,
    TAKES_DRY = 1 << PARAMETER_DRY,
    TAKES_PAUSED = 1 << PARAMETER_PAUSED,
    TAKES_PRUNE = 1 << PARAMETER_PRUNE,
    TAKES_DECLARATIONS = 1 << PARAMETER_DECLARATIONS,
    TAKES_REPAIR = 1 << PARAMETER_REPAIR,
    TAKES_VERSIONSTAMPS = 1 << PARAMETER_VERSIONSTAMPS, /* then key may be given
                                                         * again: see keys */
    TAKES_NEW = 1 << PARAMETER_NEW,
    TAKES_ESTIMATE = 1 << PARAMETER_ESTIMATE,
    TAKES_SHARE = 1 << PARAMETER_SHARE,
    TAKES_PREVIEW = 1 << PARAMETER_PREVIEW,
    TAKES_WHERE = 1 << PARAMETER_WHERE,
    TAKES_IN = 1 << PARAMETER_IN, /* any number of times: see keys */
    TAKES_ORDER = 1 << PARAMETER_ORDER,
    TAKES_STEP = 1 << PARAMETER_STEP,
    TAKES_SINCE = 1 << PARAMETER_SINCE,
    TAKES_CONSISTENCY = 1 << PARAMETER_CONSISTENCY, /* checked here, used by
                                                     * admission */
    TAKES_WAIT = 1 << PARAMETER_WAIT,
    TAKES_NOW = 1 << PARAMETER_NOW,
    TAKES_DIGEST = 1 << PARAMETER_DIGEST,
    TAKES_EXPAND = 1u << PARAMETER_EXPAND
};

struct query_params {
    unsigned allowed;   /* the set that the handler takes */
    unsigned given;     /* the set in the request */
    const void *memory; /* talloc context for decoded texts */
    /* Raw, percent-encoded; set where the bit in given is. */
    struct kx_slice raw[PARAMETER_COUNT];
    /* With TAKES_VERSIONSTAMPS: the raw text of each `key`; with TAKES_IN: that
     * of each `in`. */
    struct kx_slice *keys;
    size_t key_count;
};

/* Splits a raw query at '&' and '='. Values stay raw slices, names are decoded.
 * `allowed` is a set of enum parameter_bit. Errors: PROBLEM_UNKNOWN_PARAMETER,
 * and PROBLEM_BAD_PARAMETER for a repeated parameter. */
bool query_params_read(struct kx_slice raw, unsigned allowed,
                       const void *memory, struct query_params *query_out,
                       struct input_error *error);

/* Refuses all parameters. */
bool query_params_none(const struct request *request,
                       struct input_error *error);

/* Refuses all parameters except consistency, for a read whose selection is in
 * its body. */
bool query_params_read_only(const struct request *request,
                            struct input_error *error);

static inline bool query_params_has(const struct query_params *query,
                                    enum parameter parameter)
{
    return (query->given >> parameter & 1) != 0;
}

/* Appends the decoded text, checked to be UTF-8, of a given parameter. A '+' is
 * a space if the text begins with an escaped '[', since only a program that
 * also escapes a plus writes that. Any other '+' is PROBLEM_BAD_PARAMETER. */
bool query_params_text(const struct query_params *query,
                       enum parameter parameter, struct kx_buffer *out,
                       struct input_error *error);

/* Reads true, false, 1, 0, or an empty text for true. A parameter that is not
 * given is false. */
bool query_params_flag(const struct query_params *query,
                       enum parameter parameter, bool *value_out,
                       struct input_error *error);

/* The following functions leave *_out unchanged if the parameter is not given.
 *
 * limit: 1 to KX_PAGE_MAX. */
bool query_params_limit(const struct query_params *query, size_t *limit_out,
                        struct input_error *error);

/* A whole number from 0 to `most`. */
bool query_params_whole(const struct query_params *query,
                        enum parameter parameter, size_t most,
                        size_t *number_out, struct input_error *error);

/* order: true for `merge`, false for `concat`, the default. */
bool query_params_order(const struct query_params *query, bool *merge_out,
                        struct input_error *error);

/* step: true for `1m`, false for `10s`, the default. */
bool query_params_step(const struct query_params *query, bool *minutes_out,
                       struct input_error *error);

/* since: Unix time in milliseconds. */
bool query_params_since(const struct query_params *query, int64_t *since_ms_out,
                        struct input_error *error);

/* share: 0 to 1. */
bool query_params_share(const struct query_params *query, double *share_out,
                        struct input_error *error);

/* Appends the parts of a given key parameter: a JSON array if it begins with
 * '[' after decoding, otherwise path syntax, read raw as in a path. An
 * ambiguous %2F (a '/' in a part, or an encoded separator) is an error. A
 * prefix in path syntax may end with one '/'. An empty value is the key without
 * parts. The error names the parameter. */
bool query_params_key(const struct query_params *query,
                      enum parameter parameter, struct kx_buffer *key,
                      struct input_error *error);

/* The name of a parameter. */
const char *query_params_name(enum parameter parameter);

/* The key of a request is in its path, which is convenient to type, or in ?key=
 * as a JSON array, for programs and for keys that are awkward in a path. A key
 * in both places is PROBLEM_BAD_PARAMETER.
 *
 * Reads the query (the set `allowed`, and key) and appends the parts of the
 * key. Without a key in the path and without ?key= the key is empty. */
bool request_key_read(const struct request *request, unsigned allowed,
                      struct query_params *query_out, struct kx_buffer *key,
                      struct input_error *error);

/* Reads a key, like request_key_read, that must have at least one part
 * (PROBLEM_BAD_KEY) and be short enough to be written (PROBLEM_KEY_TOO_LONG).
 */
bool request_key(const struct request *request, unsigned allowed,
                 struct query_params *query_out, struct kx_buffer *key,
                 struct input_error *error);

/* Sets *name to the decoded name of an index in the path, in the request's
 * memory. Error: PROBLEM_BAD_REQUEST. */
bool request_key_index(const struct request *request, struct kx_buffer *name,
                       struct input_error *error);

/* Adds a header with the address of the key's entry ("/kv/" and the canonical
 * path), in the request's memory. Sets reply->body.failed if that runs out. */
void request_key_header(struct request *request, struct reply *reply,
                        const char *name, struct kx_slice key);

#endif
