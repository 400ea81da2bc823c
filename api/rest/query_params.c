/* Reads the query parameters of a request. One table has all of them and each
 * handler selects a set, so that a parameter means the same everywhere. */
#include "rest/query_params.h"

#include <ctype.h>
#include <stdio.h>
#include <talloc.h>

#include "http/percent.h"
#include "rest/key_text.h"

static const char *const NAMES[PARAMETER_COUNT] = {
    [PARAMETER_KEY] = "key",
    [PARAMETER_TTL] = "ttl",
    [PARAMETER_PREFIX] = "prefix",
    [PARAMETER_START] = "start",
    [PARAMETER_END] = "end",
    [PARAMETER_REVERSE] = "reverse",
    [PARAMETER_LIMIT] = "limit",
    [PARAMETER_CURSOR] = "cursor",
    [PARAMETER_KEYS] = "keys",
    [PARAMETER_INDEX] = "index",
    [PARAMETER_VERBOSE] = "verbose",
    [PARAMETER_FIELDS] = "fields",
    [PARAMETER_DRY] = "dry",
    [PARAMETER_PAUSED] = "paused",
    [PARAMETER_PRUNE] = "prune",
    [PARAMETER_DECLARATIONS] = "declarations",
    [PARAMETER_REPAIR] = "repair",
    [PARAMETER_VERSIONSTAMPS] = "versionstamps",
    [PARAMETER_NEW] = "new",
    [PARAMETER_ESTIMATE] = "estimate",
    [PARAMETER_SHARE] = "share",
    [PARAMETER_PREVIEW] = "preview",
    [PARAMETER_WHERE] = "where",
    [PARAMETER_IN] = "in",
    [PARAMETER_ORDER] = "order",
    [PARAMETER_STEP] = "step",
    [PARAMETER_SINCE] = "since",
    [PARAMETER_CONSISTENCY] = "consistency",
    [PARAMETER_WAIT] = "wait",
    [PARAMETER_NOW] = "now",
    [PARAMETER_DIGEST] = "digest",
    [PARAMETER_EXPAND] = "expand",
};

/* The latest time of a JavaScript Date, in milliseconds. */
static const size_t TIME_MAX = 8640000000000000;

const char *query_params_name(enum parameter parameter)
{
    return NAMES[parameter];
}

static bool bad(struct input_error *error, enum parameter parameter,
                const char *reason)
{
    input_error_set(error, PROBLEM_BAD_PARAMETER, "The parameter %s %s.",
                    NAMES[parameter], reason);
    error->parameter = kx_text(NAMES[parameter]);
    return false;
}

static bool find(struct kx_slice name, enum parameter *parameter_out)
{
    for (int i = 0; i < PARAMETER_COUNT; i++)
        if (kx_equal(name, kx_text(NAMES[i]))) {
            *parameter_out = (enum parameter)i;
            return true;
        }
    return false;
}

/* True if the name is probably a field of the entries: not similar to a
 * parameter. */
static bool looks_like_field(struct kx_slice name,
                             const struct input_error *error)
{
    enum parameter parameter;
    for (size_t i = 0; i < name.size; i++)
        if (!isalnum(name.data[i]) && name.data[i] != '_')
            return false;
    return name.size > 0 && error->suggestion_distance > 1 &&
           !find(name, &parameter);
}

/* Points out indexes to a client that tries to select by a field. */
static void point_to_indexes(struct kx_slice name, struct input_error *error)
{
    size_t used = strlen(error->detail);
    snprintf(error->detail + used, sizeof error->detail - used,
             " An index selects entries by a field: POST /explain with "
             "\"where\":[{\"path\":\"/%.*s\",\"eq\":...}] finds the index, or "
             "shows how to declare it.",
             kx_excerpt_size(name), (const char *)name.data);
}

/* Refuses a parameter that this route does not take. (A watch with an index
 * selects nothing, so it gets no hint about indexes.) */
static bool unknown(struct kx_slice name, const struct query_params *query,
                    struct input_error *error)
{
    input_error_set(error, PROBLEM_UNKNOWN_PARAMETER,
                    "The parameter \"%.*s\" is unknown here%s.",
                    kx_excerpt_size(name), name.data,
                    query->allowed == 0 ? "; this operation takes no parameters"
                                        : "");
    error->parameter = name;
    for (int i = 0; i < PARAMETER_COUNT; i++)
        if ((query->allowed >> i & 1) != 0)
            input_error_offer(error, name, NAMES[i]);
    if ((query->allowed & (TAKES_INDEX | TAKES_SINCE)) == TAKES_INDEX &&
        looks_like_field(name, error))
        point_to_indexes(name, error);
    return false;
}

static bool add_key(struct query_params *query, struct kx_slice value,
                    struct input_error *error)
{
    struct kx_slice *keys =
        talloc_realloc(query->memory, query->keys, struct kx_slice,
                       (unsigned)query->key_count + 1);
    if (keys == NULL)
        return input_error_no_memory(error);
    query->keys = keys;
    query->keys[query->key_count++] = value;
    return true;
}

static bool is_level(struct kx_slice text)
{
    return kx_equal(text, kx_text("strong")) ||
           kx_equal(text, kx_text("session")) ||
           kx_equal(text, kx_text("eventual"));
}

static bool take(struct kx_slice name, struct kx_slice value,
                 struct query_params *query, struct input_error *error)
{
    enum parameter parameter;
    if (!find(name, &parameter) || (query->allowed >> parameter & 1) == 0)
        return unknown(name, query, error);
    bool many = parameter == PARAMETER_IN ||
                (parameter == PARAMETER_KEY &&
                 (query->allowed & TAKES_VERSIONSTAMPS) != 0);
    if (query_params_has(query, parameter) && !many)
        return bad(error, parameter, "is given twice");
    if (parameter == PARAMETER_CONSISTENCY && !is_level(value))
        return bad(error, parameter, "takes strong, session or eventual");
    query->given |= 1u << parameter;
    query->raw[parameter] = value;
    return !many || add_key(query, value, error);
}

/* Reads "name=value", or a name alone. */
static bool take_pair(struct kx_slice pair, struct query_params *query,
                      struct input_error *error)
{
    const uint8_t *equals = memchr(pair.data, '=', pair.size);
    size_t size = equals == NULL ? pair.size : (size_t)(equals - pair.data);
    struct kx_slice name = kx_slice(pair.data, size);
    struct kx_slice value = kx_slice(pair.data + size, 0);
    struct kx_buffer decoded;
    if (equals != NULL)
        value = kx_slice(equals + 1, pair.size - size - 1);
    kx_buffer_init(&decoded, query->memory);
    if (memchr(name.data, '%', name.size) != NULL &&
        percent_decode(name, &decoded))
        name = kx_buffer_slice(&decoded);
    if (decoded.failed)
        return input_error_no_memory(error);
    return take(name, value, query, error); /* the error may keep the name */
}

bool query_params_read(struct kx_slice raw, unsigned allowed,
                       const void *memory, struct query_params *query_out,
                       struct input_error *error)
{
    query_out->allowed = allowed;
    query_out->given = 0;
    query_out->memory = memory;
    query_out->keys = NULL;
    query_out->key_count = 0;
    while (raw.size > 0) {
        const uint8_t *next = memchr(raw.data, '&', raw.size);
        size_t size = next == NULL ? raw.size : (size_t)(next - raw.data);
        if (size > 0 && !take_pair(kx_slice(raw.data, size), query_out, error))
            return false;
        if (next == NULL)
            break;
        raw = kx_slice(next + 1, raw.size - size - 1);
    }
    return true;
}

static bool takes_only(const struct request *request, unsigned allowed,
                       struct input_error *error)
{
    struct query_params query;
    return request->query.size == 0 ||
           query_params_read(request->query, allowed, request->memory, &query,
                             error);
}

bool query_params_none(const struct request *request, struct input_error *error)
{
    return takes_only(request, TAKES_NOTHING, error);
}

bool query_params_read_only(const struct request *request,
                            struct input_error *error)
{
    return takes_only(request, TAKES_CONSISTENCY, error);
}

/* URLSearchParams, and the libraries of most languages, escape brackets and
 * plus signs, and write a space as '+'. */
static bool is_form_encoded(struct kx_slice raw)
{
    return raw.size >= 3 && memcmp(raw.data, "%5", 2) == 0 &&
           (raw.data[2] | 0x20) == 'b';
}

static bool decode(struct kx_slice raw, struct kx_buffer *out)
{
    const uint8_t *plus;
    while (raw.size > 0 && (plus = memchr(raw.data, '+', raw.size)) != NULL) {
        size_t size = (size_t)(plus - raw.data);
        if (!percent_decode(kx_slice(raw.data, size), out))
            return false;
        kx_add_byte(out, ' ');
        raw = kx_slice(plus + 1, raw.size - size - 1);
    }
    return percent_decode(raw, out);
}

/* A '+' is a plus by RFC 3986 and a space in forms, so it is refused unless the
 * text is clearly form-encoded. */
bool query_params_text(const struct query_params *query,
                       enum parameter parameter, struct kx_buffer *out,
                       struct input_error *error)
{
    size_t before = out->size;
    struct kx_slice raw = query->raw[parameter];
    if (raw.size > 0 && memchr(raw.data, '+', raw.size) != NULL &&
        !is_form_encoded(raw))
        return bad(error, parameter,
                   "has a '+', which some clients use for a plus and others "
                   "for a space; write %2B or %20");
    if (!decode(raw, out))
        return bad(error, parameter,
                   "has a '%' without two hexadecimal digits");
    if (out->failed)
        return input_error_no_memory(error);
    if (!kx_utf8_valid(kx_slice(out->data + before, out->size - before)))
        return bad(error, parameter, "is not valid UTF-8");
    return true;
}

static bool is_either(struct kx_slice text, const char *a, const char *b)
{
    return kx_equal(text, kx_text(a)) || kx_equal(text, kx_text(b));
}

bool query_params_flag(const struct query_params *query,
                       enum parameter parameter, bool *value_out,
                       struct input_error *error)
{
    *value_out = false;
    if (!query_params_has(query, parameter))
        return true;
    struct kx_slice text = query->raw[parameter];
    *value_out = text.size == 0 || is_either(text, "true", "1");
    return *value_out || is_either(text, "false", "0") ||
           bad(error, parameter, "takes true or false");
}

/* The error says how to get more than one page on this route. */
static bool bad_limit(const struct query_params *query, bool too_large,
                      struct input_error *error)
{
    struct kx_slice text = query->raw[PARAMETER_LIMIT];
    const char *way = "";
    if (too_large && (query->allowed & TAKES_KEYS) != 0)
        way = " For more, repeat the request with the cursor of each page, or "
              "leave out limit and send Accept: application/x-ndjson.";
    else if (too_large && (query->allowed & TAKES_CURSOR) != 0)
        way = " For more, repeat the request with the cursor of each page.";
    else if (too_large)
        way = " For more, repeat the request.";
    input_error_set(
        error, PROBLEM_BAD_PARAMETER,
        "The parameter limit is \"%.*s\"; it takes a whole number from 1 "
        "to %d.%s",
        kx_excerpt_size(text), (const char *)text.data, KX_PAGE_MAX, way);
    error->parameter = kx_text(NAMES[PARAMETER_LIMIT]);
    return false;
}

/* Reads digits. A number over the maximum is no longer increased, so it cannot
 * overflow. */
static bool read_number(struct kx_slice text, size_t most, size_t *number_out)
{
    *number_out = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = text.data[i] - (unsigned)'0';
        if (digit > 9)
            return false;
        *number_out = *number_out * 10 + digit;
        if (*number_out > most)
            *number_out = most + 1;
    }
    return text.size > 0;
}

bool query_params_limit(const struct query_params *query, size_t *limit_out,
                        struct input_error *error)
{
    size_t limit;
    if (!query_params_has(query, PARAMETER_LIMIT))
        return true;
    if (!read_number(query->raw[PARAMETER_LIMIT], KX_PAGE_MAX, &limit))
        return bad_limit(query, false, error);
    if (limit < 1 || limit > KX_PAGE_MAX)
        return bad_limit(query, limit > 0, error);
    *limit_out = limit;
    return true;
}

bool query_params_whole(const struct query_params *query,
                        enum parameter parameter, size_t most,
                        size_t *number_out, struct input_error *error)
{
    size_t number;
    char reason[80];
    if (!query_params_has(query, parameter))
        return true;
    if (read_number(query->raw[parameter], most, &number) && number <= most) {
        *number_out = number;
        return true;
    }
    snprintf(reason, sizeof reason, "takes a whole number from 0 to %zu", most);
    return bad(error, parameter, reason);
}

bool query_params_since(const struct query_params *query, int64_t *since_ms_out,
                        struct input_error *error)
{
    size_t since = (size_t)*since_ms_out;
    bool good =
        query_params_whole(query, PARAMETER_SINCE, TIME_MAX, &since, error);
    *since_ms_out = (int64_t)since;
    return good;
}

/* Sets *second_out if the parameter is the second of two words. The first one
 * is the default. */
static bool read_either(const struct query_params *query,
                        enum parameter parameter, const char *const words[2],
                        bool *second_out, struct input_error *error)
{
    char reason[120];
    struct kx_slice text = query->raw[parameter];
    bool given = query_params_has(query, parameter);
    *second_out = given && kx_equal(text, kx_text(words[1]));
    if (!given || is_either(text, words[0], words[1]))
        return true;
    snprintf(reason, sizeof reason, "takes %s or %s", words[0], words[1]);
    return bad(error, parameter, reason);
}

bool query_params_order(const struct query_params *query, bool *merge_out,
                        struct input_error *error)
{
    static const char *const WORDS[] = {"concat", "merge"};
    return read_either(query, PARAMETER_ORDER, WORDS, merge_out, error);
}

bool query_params_step(const struct query_params *query, bool *minutes_out,
                       struct input_error *error)
{
    static const char *const WORDS[] = {"10s", "1m"};
    return read_either(query, PARAMETER_STEP, WORDS, minutes_out, error);
}

bool query_params_share(const struct query_params *query, double *share_out,
                        struct input_error *error)
{
    double share;
    if (!query_params_has(query, PARAMETER_SHARE))
        return true;
    if (!kx_number_parse(query->raw[PARAMETER_SHARE], &share) || share < 0 ||
        share > 1)
        return bad(error, PARAMETER_SHARE,
                   "takes a number from 0 (the beginning) to 1 (the end)");
    *share_out = share;
    return true;
}

/* True if a key in path syntax is ambiguous: an encoded '/' or leading '=' may
 * be a character of a part, or a library may have encoded the whole text. A
 * plain
 * '/' shows that none did. */
static bool ambiguous(struct kx_slice raw)
{
    if (raw.size < 3 || memchr(raw.data, '/', raw.size) != NULL)
        return false;
    if (memcmp(raw.data, "%3", 2) == 0 && (raw.data[2] | 0x20) == 'd')
        return true;
    for (size_t i = 0; i + 2 < raw.size; i++)
        if (memcmp(raw.data + i, "%2", 2) == 0 &&
            (raw.data[i + 2] | 0x20) == 'f')
            return true;
    return false;
}

static bool read_key(struct kx_slice raw, struct kx_slice text,
                     struct kx_buffer *key, struct input_error *error)
{
    if (text.size > 0 && text.data[0] == '[')
        return key_text_from_any_json(text, key, error);
    if (ambiguous(raw))
        return input_error_set(
            error, PROBLEM_BAD_KEY,
            "\"%.*s\" could mean an encoded '/' or '=' of one "
            "part, or encoded separators; write the key as a JSON "
            "array like [\"users\",\"ada\"].",
            kx_excerpt_size(raw), raw.data);
    return text.size == 0 || key_text_from_path(raw, key, error);
}

/* A prefix may end with a '/', as directories do: "orders/" is "orders". */
static struct kx_slice key_of_prefix(struct kx_slice raw,
                                     enum parameter parameter)
{
    bool ends = raw.size > 1 && raw.data[raw.size - 1] == '/';
    return kx_slice(raw.data,
                    raw.size - (ends && parameter == PARAMETER_PREFIX));
}

bool query_params_key(const struct query_params *query,
                      enum parameter parameter, struct kx_buffer *key,
                      struct input_error *error)
{
    struct kx_buffer text;
    kx_buffer_init(&text, query->memory);
    if (!query_params_text(query, parameter, &text, error))
        return false;
    bool done = read_key(key_of_prefix(query->raw[parameter], parameter),
                         kx_buffer_slice(&text), key, error);
    kx_buffer_free(&text);
    if (!done) {
        error->parameter = kx_text(NAMES[parameter]);
        error->pointer[0] = '\0';
    }
    return done;
}

/* ---- The key of a request ----------------------------------------------- */

/* An error names the parameter in place of a pointer into the array. */
static bool read_parameter(const struct query_params *query,
                           struct kx_buffer *key, struct input_error *error)
{
    struct kx_buffer text;
    kx_buffer_init(&text, query->memory);
    bool done = query_params_text(query, PARAMETER_KEY, &text, error) &&
                key_text_from_any_json(kx_buffer_slice(&text), key, error);
    if (!done) {
        if (error->code == PROBLEM_BAD_JSON)
            input_error_set(error, PROBLEM_BAD_JSON,
                            "The parameter key takes a JSON array, such as "
                            "[\"users\",\"ada\"].");
        error->parameter = kx_text(query_params_name(PARAMETER_KEY));
        error->pointer[0] = '\0';
    }
    kx_buffer_free(&text);
    return done;
}

/* Most requests have no query. For these only query_out->given is set, the only
 * member that query_params_has reads. */
bool request_key_read(const struct request *request, unsigned allowed,
                      struct query_params *query_out, struct kx_buffer *key,
                      struct input_error *error)
{
    query_out->given = 0;
    if (request->query.size > 0 &&
        !query_params_read(request->query, allowed | TAKES_KEY, request->memory,
                           query_out, error))
        return false;
    if (!query_params_has(query_out, PARAMETER_KEY))
        return !request->has_tail ||
               key_text_from_path(request->tail, key, error);
    if (request->has_tail)
        return input_error_set(
            error, PROBLEM_BAD_PARAMETER,
            "The key is given twice: in the path and in ?key=.");
    return read_parameter(query_out, key, error);
}

bool request_key(const struct request *request, unsigned allowed,
                 struct query_params *query_out, struct kx_buffer *key,
                 struct input_error *error)
{
    if (!request_key_read(request, allowed, query_out, key, error))
        return false;
    if (key->size == 0)
        return input_error_set(error, PROBLEM_BAD_KEY, "The key has no parts.");
    if (key->size > KX_KEY_MAX)
        return input_error_set(
            error, PROBLEM_KEY_TOO_LONG,
            "The key has %zu encoded bytes; the limit is %d.", key->size,
            KX_KEY_MAX);
    return true;
}

bool request_key_index(const struct request *request, struct kx_buffer *name,
                       struct input_error *error)
{
    kx_buffer_init(name, request->memory);
    if (!percent_decode(request->argument, name))
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "The name of the index has a '%%' without two "
                               "hexadecimal digits.");
    return !name->failed || input_error_no_memory(error);
}

void request_key_header(struct request *request, struct reply *reply,
                        const char *name, struct kx_slice key)
{
    struct kx_buffer address;
    kx_buffer_init(&address, request->memory);
    kx_add_text(&address, "/kv/");
    key_text_to_path(key, &address);
    kx_add_byte(&address, '\0');
    if (address.failed)
        reply->body.failed = true;
    else
        reply_header(reply, name, (const char *)address.data);
}
