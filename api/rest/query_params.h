/* The query parameters of a request. Each handler names the set that it takes.
 * Other parameters and repeated ones are errors, because a mistyped ?revrse=1
 * must not be ignored. */
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
    TAKES_VERSIONSTAMPS = 1 << PARAMETER_VERSIONSTAMPS,
    TAKES_NEW = 1 << PARAMETER_NEW,
    TAKES_ESTIMATE = 1 << PARAMETER_ESTIMATE,
    TAKES_SHARE = 1 << PARAMETER_SHARE,
    TAKES_PREVIEW = 1 << PARAMETER_PREVIEW,
    TAKES_WHERE = 1 << PARAMETER_WHERE,
    TAKES_IN = 1 << PARAMETER_IN, /* any number of times: see keys */
    TAKES_ORDER = 1 << PARAMETER_ORDER,
    TAKES_STEP = 1 << PARAMETER_STEP,
    TAKES_SINCE = 1 << PARAMETER_SINCE,
    TAKES_CONSISTENCY = 1 << PARAMETER_CONSISTENCY, /* checked when it is read:
                                                     * a node that has the
                                                     * store needs it for
                                                     * nothing */
    TAKES_MANY_KEYS = 1 << 30 /* key may be given again: see keys */
};

struct query_params {
    unsigned allowed;   /* the set that the handler takes */
    unsigned given;     /* the set in the request */
    const void *memory; /* talloc context for decoded texts */
    /* Raw, percent-encoded; set where the bit in given is. */
    struct kx_slice raw[PARAMETER_COUNT];
    /* With TAKES_MANY_KEYS: the raw text of each `key`; with TAKES_IN: that of
     * each `in`. */
    struct kx_slice *keys;
    size_t key_count;
};

/* Splits a raw query at its '&' and '='. Values stay raw slices of it, names
 * are decoded. False with PROBLEM_UNKNOWN_PARAMETER, or PROBLEM_BAD_PARAMETER
 * for one that is given twice. `allowed` is a set of enum parameter_bit. */
bool query_params_read(struct kx_slice raw, unsigned allowed,
                       const void *memory, struct query_params *query_out,
                       struct input_error *error);

/* Has the request no parameters? False with the error of query_params_read:
 * ignoring a parameter would suggest that it had an effect. */
bool query_params_none(const struct request *request,
                       struct input_error *error);

/* The same for a read whose selection is in its body: consistency is allowed.
 */
bool query_params_read_only(const struct request *request,
                            struct input_error *error);

static inline bool query_params_has(const struct query_params *query,
                                    enum parameter parameter)
{
    return (query->given >> parameter & 1) != 0;
}

/* Appends the decoded text of a given parameter, which is UTF-8. A '+' is a
 * space if the text begins with an escaped '[': then a program has written it,
 * which escapes a plus. Elsewhere it is refused, PROBLEM_BAD_PARAMETER. */
bool query_params_text(const struct query_params *query,
                       enum parameter parameter, struct kx_buffer *out,
                       struct input_error *error);

/* Reads true, false, 1, 0, or an empty text for true. A parameter that is not
 * given reads as false. */
bool query_params_flag(const struct query_params *query,
                       enum parameter parameter, bool *value_out,
                       struct input_error *error);

/* limit: 1 to KX_PAGE_MAX; `*limit_out` is unchanged when it is not given. */
bool query_params_limit(const struct query_params *query, size_t *limit_out,
                        struct input_error *error);

/* preview: 0 to KX_PREVIEW_MAX; `*size_out` is unchanged when it is not
 * given. */
bool query_params_preview(const struct query_params *query, size_t *size_out,
                          struct input_error *error);

/* order: whether it is `merge`; else `concat`, also when it is not given. */
bool query_params_order(const struct query_params *query, bool *merge_out,
                        struct input_error *error);

/* step: whether it is `1m`; else `10s`, also when it is not given. */
bool query_params_step(const struct query_params *query, bool *minutes_out,
                       struct input_error *error);

/* since: Unix time in milliseconds; `*since_ms_out` is unchanged when it is not
 * given. */
bool query_params_since(const struct query_params *query, int64_t *since_ms_out,
                        struct input_error *error);

/* share: 0 to 1; `*share_out` is unchanged when it is not given. */
bool query_params_share(const struct query_params *query, double *share_out,
                        struct input_error *error);

/* Appends the parts of a given key parameter: a JSON array when it begins with
 * '[' (after decoding), else path syntax, taken raw as in a path. `%2F` alone
 * could be a '/' in a part or an encoded separator, and is an error. An empty
 * value is the key without parts. The error names the parameter. */
bool query_params_key(const struct query_params *query,
                      enum parameter parameter, struct kx_buffer *key,
                      struct input_error *error);

/* The name of a parameter. */
const char *query_params_name(enum parameter parameter);

#endif
