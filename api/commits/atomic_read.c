/* The document of POST /atomic:
 *
 * {"checks":[{"key":[...],"versionstamp":"..."},{"prefix":[...],"none":true}],
 * "mutations":[{"type":"set",
 * "key":[...],"value":...,"ttl":"5m"}], "ack":["..."], "dry":false}, with
 * "expiresAt" for "ttl". */
#include <talloc.h>

#include "commits/atomic.h"
#include "rest/document.h"
#include "rest/entryjson.h"
#include "rest/key_text.h"
#include "rest/receipt.h"
#include "rest/selector.h"
#include "rest/ttl.h"

static bool bad(struct input_error *error, const char *detail)
{
    return input_error_set(error, PROBLEM_BAD_REQUEST, "%s", detail);
}

/* ---- An entry named by its value in a unique index ----------------------
 *
 * {"index":"users_by_email","value":["ada@example.org"]} */

struct by_reading {
    void *memory;
    struct kx_by *by;
};

static bool by_index(void *target, struct kx_slice value,
                     struct input_error *error)
{
    struct by_reading *reading = target;
    struct kx_buffer name;
    kx_buffer_init(&name, reading->memory);
    if (!document_text(value, &name, error))
        return false;
    reading->by->index = kx_buffer_slice(&name);
    return !name.failed || input_error_no_memory(error);
}

static bool by_value(void *target, struct kx_slice value,
                     struct input_error *error)
{
    struct by_reading *reading = target;
    return key_text_entry_from_json(value, reading->memory, &reading->by->value,
                                    error);
}

static const struct member BY_MEMBERS[] = {
    {"index", by_index},
    {"value", by_value},
    {NULL, NULL},
};

static bool read_by(struct kx_slice value, void *memory,
                    const struct kx_by **by_out, struct input_error *error)
{
    struct by_reading reading = {memory, talloc_zero(memory, struct kx_by)};
    if (reading.by == NULL)
        return input_error_no_memory(error);
    *by_out = reading.by;
    if (!document_read(value, BY_MEMBERS, &reading, error))
        return false;
    return (reading.by->index.size > 0 && reading.by->value.size > 0) ||
           input_error_set(error, PROBLEM_BAD_REQUEST,
                           "by has the name of a unique index, and a value: "
                           "an array of its fields.");
}

/* ---- Checks: a key or a range, and one condition ------------------------ */

/* The check being read, and which members it had. */
struct check_reading {
    struct range_target range; /* must be first */
    void *memory;
    struct kx_check *check;
    struct selection selection;
    size_t entries; /* key, by */
    size_t conditions;
    bool has_limit;
};

static void set_condition(struct check_reading *reading,
                          enum kx_condition condition)
{
    reading->conditions++;
    reading->check->condition = condition;
}

static bool check_key(void *target, struct kx_slice value,
                      struct input_error *error)
{
    struct check_reading *reading = target;
    reading->entries++;
    return key_text_entry_from_json(value, reading->memory,
                                    &reading->check->key, error);
}

static bool check_by(void *target, struct kx_slice value,
                     struct input_error *error)
{
    struct check_reading *reading = target;
    reading->entries++;
    return read_by(value, reading->memory, &reading->check->by, error);
}

static bool read_stamp(struct check_reading *reading, struct kx_slice value,
                       const char *detail, struct input_error *error)
{
    uint64_t *stamp = talloc(reading->memory, uint64_t);
    if (stamp == NULL)
        return input_error_no_memory(error);
    reading->check->stamps = stamp;
    reading->check->stamp_count = 1;
    return (kx_json_type(value) == KX_JSON_STRING &&
            kx_stamp_parse(kx_slice(value.data + 1, value.size - 2), stamp) &&
            *stamp != 0) ||
           bad(error, detail);
}

/* A text asks for exactly that version, null for the absence of the entry, as
 * in Deno's atomic().check(). No entry has the version 0. */
static bool check_stamp(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct check_reading *reading = target;
    bool absent = kx_json_type(value) == KX_JSON_NULL;
    set_condition(reading, absent ? KX_IS_ABSENT : KX_IS_ONE_OF);
    return absent ||
           read_stamp(reading, value,
                      "A versionstamp is a string of 20 hexadecimal digits, as "
                      "an entry shows it, or null if the entry must be absent.",
                      error);
}

static bool check_exists(void *target, struct kx_slice value,
                         struct input_error *error)
{
    bool exists = false;
    if (!document_flag(value, &exists, error))
        return false;
    set_condition(target, exists ? KX_IS_PRESENT : KX_IS_ABSENT);
    return true;
}

static bool check_at_most(void *target, struct kx_slice value,
                          struct input_error *error)
{
    set_condition(target, KX_IS_AT_MOST);
    return read_stamp(target, value,
                      "atMost is a versionstamp: a string of 20 hexadecimal "
                      "digits, as an entry shows it.",
                      error);
}

static bool check_where(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct check_reading *reading = target;
    struct kx_where *where = NULL;
    struct kx_fault fault = {0};
    set_condition(reading, KX_MEETS);
    fault.status = kx_where_read(reading->memory, value, &where, &fault);
    reading->check->where = where;
    return fault.status == KX_OK || input_error_condition(error, &fault);
}

static bool check_none(void *target, struct kx_slice value,
                       struct input_error *error)
{
    bool none = false;
    set_condition(target, KX_RANGE_EMPTY);
    return (document_flag(value, &none, error) && none) ||
           bad(error, "none is true: there is no entry under the prefix.");
}

static bool check_digest(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct check_reading *reading = target;
    struct kx_buffer digest;
    kx_buffer_init(&digest, reading->memory);
    set_condition(reading, KX_RANGE_IS);
    if (kx_json_type(value) != KX_JSON_STRING ||
        !kx_hex_read(kx_slice(value.data + 1, value.size - 2), &digest) ||
        digest.size != KX_SHA256_SIZE)
        return bad(error, "digest is what a list with digest=true shows: 64 "
                          "hexadecimal digits.");
    reading->check->digest = digest.data;
    return !digest.failed || input_error_no_memory(error);
}

static bool check_limit(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct check_reading *reading = target;
    reading->has_limit = true;
    return document_whole(value, KX_PAGE_MAX, &reading->check->limit, error);
}

static const struct member CHECK_MEMBERS[] = {
    {"key", check_key},
    {"by", check_by},
    {"versionstamp", check_stamp},
    {"exists", check_exists},
    {"atMost", check_at_most},
    {"where", check_where},
    {"prefix", range_member_prefix},
    {"start", range_member_start},
    {"end", range_member_end},
    {"reverse", range_member_reverse},
    {"limit", check_limit},
    {"none", check_none},
    {"digest", check_digest},
    {NULL, NULL},
};

static bool has_bounds(const struct check_reading *reading)
{
    return reading->selection.has_start || reading->selection.has_end;
}

/* True if the check has members that only a digest has. */
static bool is_of_list(const struct check_reading *reading)
{
    return has_bounds(reading) || reading->selection.reverse ||
           reading->has_limit;
}

static bool range_fits(const struct check_reading *reading)
{
    bool prefix = reading->selection.has_prefix;
    if (reading->check->condition == KX_RANGE_IS)
        return prefix || has_bounds(reading);
    return prefix && !is_of_list(reading);
}

static bool entry_fits(const struct check_reading *reading)
{
    return reading->entries == 1 && !reading->selection.has_prefix &&
           !is_of_list(reading);
}

/* atMost may stand with a key or a prefix. */
static void set_subject(const struct check_reading *reading)
{
    struct kx_check *check = reading->check;
    if (reading->selection.has_prefix && check->condition == KX_IS_AT_MOST)
        check->condition = KX_RANGE_AT_MOST;
}

static bool check_fits(const struct check_reading *reading,
                       struct input_error *error)
{
    const struct kx_check *check = reading->check;
    bool fits = kx_check_of_range(check)
                    ? reading->entries == 0 && range_fits(reading)
                    : entry_fits(reading);
    return (reading->conditions == 1 && fits) ||
           bad(error,
               "A check has a key or by, with one of versionstamp, "
               "exists, atMost and where; a prefix, with none or atMost; or "
               "the range and limit of a list, with its digest.");
}

/* Sets the bounds of the range, as a list does. */
static bool check_range(struct check_reading *reading,
                        struct input_error *error)
{
    struct kx_check *check = reading->check;
    struct selector selector;
    if (!selector_make(&reading->selection, reading->memory, &selector,
                       error)) {
        if (error->code == PROBLEM_BAD_PARAMETER)
            error->code = PROBLEM_BAD_REQUEST; /* it is a member of the body */
        error->parameter = kx_slice(NULL, 0);
        return false;
    }
    check->start = selector.range.start;
    check->end = selector.range.end;
    check->reverse = selector.range.reverse;
    check->key = kx_buffer_slice(&reading->selection.prefix);
    return true;
}

/* Reads one check, whose key and stamp lie in memory. */
static bool read_check(struct kx_slice value, void *memory,
                       struct kx_check *check, struct input_error *error)
{
    struct check_reading reading = {
        .range = {&reading.selection}, .memory = memory, .check = check};
    selection_init(&reading.selection, memory);
    if (!document_read(value, CHECK_MEMBERS, &reading, error))
        return false;
    set_subject(&reading);
    return check_fits(&reading, error) &&
           (!kx_check_of_range(check) || check_range(&reading, error));
}

/* ---- Mutations -----------------------------------------------------------
 *
 * A table of members fills a `reading`, which also says which members there
 * were. Combinations of members are checked after the last one. */

/* The mutation being read. `value` and `typed` fill the same struct kx_value;
 * the flags tell which of them were there. */
struct mutation_reading {
    void *memory;
    struct kx_mutation *mutation;
    bool deep; /* as in struct atomic */
    bool has_type;
    bool has_value;
    bool has_typed;
    struct kx_slice ops; /* data NULL: none */
    bool has_ttl;
    struct ttl ttl;
    bool has_expires_at;
    bool has_ttl_of;
    bool has_bound; /* min or max */
    bool has_out;
    struct kx_bounds bounds;
};

static const struct {
    const char *name;
    enum kx_mutation_type type;
} TYPES[] = {
    {"set", KX_SET},     {"delete", KX_DELETE}, {"sum", KX_SUM},
    {"min", KX_MIN},     {"max", KX_MAX},       {"patch", KX_PATCH},
    {"touch", KX_TOUCH},
};

static bool unknown_type(struct kx_slice name, struct input_error *error)
{
    bad(error, "The type of a mutation is set, delete, sum, min, max, patch or "
               "touch.");
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        input_error_offer(error, name, TYPES[i].name);
    return false;
}

static bool mutation_type(void *target, struct kx_slice value,
                          struct input_error *error)
{
    struct mutation_reading *reading = target;
    reading->has_type = true;
    struct kx_slice name = kx_json_type(value) == KX_JSON_STRING
                               ? kx_slice(value.data + 1, value.size - 2)
                               : kx_slice(NULL, 0);
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (kx_equal(name, kx_text(TYPES[i].name))) {
            reading->mutation->type = TYPES[i].type;
            return true;
        }
    return unknown_type(name, error);
}

static bool mutation_key(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct mutation_reading *reading = target;
    return key_text_entry_from_json(value, reading->memory,
                                    &reading->mutation->key, error);
}

static bool mutation_by(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct mutation_reading *reading = target;
    return read_by(value, reading->memory, &reading->mutation->by, error);
}

/* The levels of the document that enclose the value do not count. */
static bool fits_depth(const struct mutation_reading *reading,
                       struct kx_slice value, struct input_error *error)
{
    struct kx_fault fault = {0};
    return !reading->deep || kx_json_check(value, &fault) == KX_OK ||
           input_error_fault(error, &fault);
}

/* The bytes of the value stay a slice of the body. */
static bool mutation_value(void *target, struct kx_slice value,
                           struct input_error *error)
{
    struct mutation_reading *reading = target;
    reading->has_value = true;
    reading->mutation->value.encoding = KX_JSON;
    reading->mutation->value.data = value;
    return fits_depth(reading, value, error);
}

static bool mutation_typed(void *target, struct kx_slice value,
                           struct input_error *error)
{
    struct mutation_reading *reading = target;
    reading->has_typed = true;
    return fits_depth(reading, value, error) &&
           entryjson_read_typed(value, reading->memory,
                                &reading->mutation->value, error);
}

/* The operations of a patch are parsed when they are carried out. */
static bool mutation_ops(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct mutation_reading *reading = target;
    reading->ops = value;
    return kx_json_type(value) == KX_JSON_ARRAY ||
           bad(error, "ops is an array of operations.");
}

static bool mutation_ttl(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct mutation_reading *reading = target;
    reading->has_ttl = true;
    return ttl_member_write(value, reading->memory, &reading->ttl, error);
}

/* A time in the past is accepted: the entry expires at once, as it would have
 * if it had been stored earlier. */
static bool mutation_expires_at(void *target, struct kx_slice value,
                                struct input_error *error)
{
    struct mutation_reading *reading = target;
    reading->has_expires_at = true;
    return ttl_expires_at(value, &reading->mutation->expires_at_ms, error);
}

/* "versionstamp" appends the stamp of the commit to the key, which only the
 * writer knows. */
static bool mutation_suffix(void *target, struct kx_slice value,
                            struct input_error *error)
{
    struct mutation_reading *reading = target;
    if (!kx_equal(value, kx_text("\"versionstamp\"")))
        return bad(error, "The only suffix is \"versionstamp\".");
    reading->mutation->suffix_stamp = true;
    return true;
}

/* Sets *place_out to the index of the text in a list that ends with NULL. If
 * the list lacks it, returns false with the detail as the error. */
static bool read_word(struct kx_slice value, const char *const *words,
                      const char *detail, unsigned *place_out,
                      struct input_error *error)
{
    for (*place_out = 0; words[*place_out] != NULL; ++*place_out)
        if (kx_equal(value, kx_text(words[*place_out])))
            return true;
    return bad(error, detail);
}

static bool mutation_return(void *target, struct kx_slice value,
                            struct input_error *error)
{
    static const char *const WORDS[] = {
        [KX_RETURN_NOTHING] = "", "\"old\"", "\"new\"", NULL};
    struct mutation_reading *reading = target;
    return read_word(value, WORDS,
                     "return is \"new\", the entry after the commit, or "
                     "\"old\", the entry before it.",
                     &reading->mutation->returns, error);
}

/* A bound is a number, or a typed value. */
static bool read_bound(struct mutation_reading *reading, struct kx_slice value,
                       struct kx_value *bound, struct input_error *error)
{
    reading->has_bound = true;
    if (kx_json_type(value) == KX_JSON_OBJECT)
        return entryjson_read_typed(value, reading->memory, bound, error);
    *bound = (struct kx_value){.encoding = KX_JSON, .data = value};
    return kx_json_type(value) == KX_JSON_NUMBER ||
           bad(error, "min and max are numbers, or a typed KvU64 or bigint.");
}

static bool mutation_min(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct mutation_reading *reading = target;
    return read_bound(reading, value, &reading->bounds.min, error);
}

static bool mutation_max(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct mutation_reading *reading = target;
    return read_bound(reading, value, &reading->bounds.max, error);
}

static bool mutation_out(void *target, struct kx_slice value,
                         struct input_error *error)
{
    static const char *const WORDS[] = {"\"refuse\"", "\"clamp\"", "\"skip\"",
                                        NULL};
    struct mutation_reading *reading = target;
    reading->has_out = true;
    return read_word(value, WORDS, "out is \"refuse\", \"clamp\" or \"skip\".",
                     &reading->bounds.out, error);
}

static bool mutation_ttl_of(void *target, struct kx_slice value,
                            struct input_error *error)
{
    static const char *const WORDS[] = {"\"always\"", "\"new\"", "\"keep\"",
                                        NULL};
    struct mutation_reading *reading = target;
    reading->has_ttl_of = true;
    return read_word(value, WORDS,
                     "ttlOf is \"always\", \"new\", an entry that the mutation "
                     "creates, or \"keep\", one that does not expire yet.",
                     &reading->mutation->ttl_of, error);
}

static const struct member MUTATION_MEMBERS[] = {
    {"type", mutation_type},
    {"key", mutation_key},
    {"by", mutation_by},
    {"value", mutation_value},
    {"typed", mutation_typed},
    {"ops", mutation_ops},
    {"ttl", mutation_ttl},
    {"expiresAt", mutation_expires_at},
    {"suffix", mutation_suffix},
    {"return", mutation_return},
    {"min", mutation_min},
    {"max", mutation_max},
    {"out", mutation_out},
    {"ttlOf", mutation_ttl_of},
    {NULL, NULL},
};

/* True if the bounds are numbers of the operand's type, and min is at most max.
 */
static bool bounds_hold(const struct mutation_reading *reading,
                        struct input_error *error)
{
    struct kx_buffer scratch;
    struct kx_fault fault;
    kx_buffer_init(&scratch, reading->memory);
    enum kx_status status =
        kx_bounds_check(reading->mutation, &scratch, &fault);
    if (status == KX_NO_MEMORY)
        return input_error_no_memory(error);
    return status == KX_OK ||
           input_error_set(error, PROBLEM_BAD_VALUE, "%s",
                           status == KX_OUT_OF_BOUNDS
                               ? "min is greater than max."
                               : "min and max are of the operand's type: "
                                 "numbers for value, KvU64 or bigint for "
                                 "typed.");
}

/* Only a sum may have bounds. */
static bool bounds_fit(struct mutation_reading *reading,
                       struct input_error *error)
{
    struct kx_mutation *mutation = reading->mutation;
    const struct kx_bounds *bounds = &reading->bounds;
    if (!reading->has_bound)
        return !reading->has_out || bad(error, "out needs min or max.");
    if (mutation->type != KX_SUM)
        return bad(error, "Only sum takes min and max.");
    mutation->bounds = talloc_memdup(reading->memory, bounds, sizeof *bounds);
    if (mutation->bounds == NULL)
        return input_error_no_memory(error);
    return bounds_hold(reading, error);
}

/* Without a time, an entry that sum, min, max or patch changes keeps its
 * expiry. A time to live counts from when the request is read, not from the
 * commit. */
static bool read_expiry(const struct mutation_reading *reading,
                        struct input_error *error)
{
    struct kx_mutation *mutation = reading->mutation;
    bool has_ttl = reading->has_ttl && reading->ttl.kind == TTL_TIME;
    bool has_expiry = reading->has_ttl || reading->has_expires_at;
    bool changes = mutation->type != KX_SET && mutation->type != KX_DELETE;
    enum kx_ttl_of asked = mutation->ttl_of;
    if (reading->has_ttl)
        ttl_apply(&reading->ttl, mutation);
    if (reading->has_ttl_of)
        mutation->ttl_of = asked;
    if (reading->has_ttl_of &&
        (!(has_ttl || reading->has_expires_at) || !changes))
        return bad(error, "ttlOf goes with a time in ttl or expiresAt of sum, "
                          "min, max, patch or touch.");
    if (!has_expiry && changes)
        mutation->ttl_of = KX_TTL_NEW;
    return true;
}

/* Each type takes an operand, an expiry, or both. */
static bool type_fits(enum kx_mutation_type type, bool has_operand,
                      bool has_expiry, struct input_error *error)
{
    if (type == KX_TOUCH)
        return (!has_operand && has_expiry) ||
               bad(error, "touch takes a key and ttl or expiresAt.");
    if (type == KX_DELETE)
        return (!has_operand && !has_expiry) ||
               bad(error, "delete takes a key only.");
    return has_operand ||
           bad(error, "This mutation needs a value or a typed value.");
}

/* True if the mutation has the operand and the expiry that its type needs. */
static bool operand_fits(const struct mutation_reading *reading,
                         struct input_error *error)
{
    if (reading->has_value && reading->has_typed)
        return bad(error, "A mutation has a value or a typed value, not both.");
    if (reading->has_ttl && reading->has_expires_at)
        return bad(error, "A mutation has ttl or expiresAt, not both.");
    return type_fits(reading->mutation->type,
                     reading->has_value || reading->has_typed,
                     reading->has_ttl || reading->has_expires_at, error);
}

/* A patch has a merge patch in `value`, or operations in `ops`. */
static bool ops_fit(struct mutation_reading *reading, struct input_error *error)
{
    struct kx_mutation *mutation = reading->mutation;
    if (reading->ops.data == NULL)
        return true;
    if (mutation->type != KX_PATCH || !reading->has_type)
        return bad(error, "Only patch takes ops.");
    if (reading->has_value || reading->has_typed)
        return bad(error, "A patch has a value or ops, not both.");
    mutation->type = KX_JSON_PATCH;
    mutation->value =
        (struct kx_value){.encoding = KX_JSON, .data = reading->ops};
    reading->has_value = true;
    return true;
}

/* True if the members of the mutation may be combined. */
static bool mutation_complete(const struct mutation_reading *reading,
                              struct input_error *error)
{
    const struct kx_mutation *mutation = reading->mutation;
    if (!reading->has_type ||
        (mutation->key.size == 0) == (mutation->by == NULL))
        return bad(error, "A mutation has a type, and a key or by.");
    if (mutation->suffix_stamp &&
        (mutation->type != KX_SET || mutation->by != NULL))
        return bad(error, "Only set with a key takes a suffix.");
    return operand_fits(reading, error);
}

/* sum, min and max take a number, a bigint or a KvU64; patch takes JSON. */
static bool mutation_fits(const struct kx_mutation *mutation,
                          const void *memory, struct input_error *error)
{
    bool json = mutation->value.encoding == KX_JSON;
    switch (mutation->type) {
    case KX_SUM:
    case KX_MIN:
    case KX_MAX:
        return kx_value_is_number(&mutation->value, memory) ||
               input_error_set(
                   error, PROBLEM_BAD_VALUE,
                   "sum, min and max take a number in value, or a KvU64 "
                   "or a bigint in typed.");
    case KX_PATCH:
    case KX_JSON_PATCH:
        return json || input_error_set(error, PROBLEM_BAD_VALUE,
                                       "patch takes JSON in value.");
    case KX_SET:
    case KX_DELETE:
    case KX_TOUCH:
    case KX_ACK:
    case KX_EXTEND:
    case KX_RELEASE:
    case KX_FAIL:
    case KX_DELETE_RANGE:
    case KX_PATCH_RANGE:
    case KX_CLAIM:
        break;
    }
    return true;
}

bool atomic_read_mutation(const struct atomic *atomic, struct kx_slice value,
                          struct kx_mutation *mutation,
                          struct input_error *error)
{
    struct mutation_reading reading = {
        .memory = atomic->memory, .mutation = mutation, .deep = atomic->deep};
    return document_read(value, MUTATION_MEMBERS, &reading, error) &&
           ops_fit(&reading, error) && mutation_complete(&reading, error) &&
           mutation_fits(mutation, atomic->memory, error) &&
           bounds_fit(&reading, error) && read_expiry(&reading, error);
}

static bool entry_stamp(void *target, struct kx_slice value,
                        struct input_error *error)
{
    (void)target;
    (void)value;
    (void)error;
    return true;
}

static const struct member ENTRY_MEMBERS[] = {
    {"key", mutation_key},
    {"value", mutation_value},
    {"typed", mutation_typed},
    {"versionstamp", entry_stamp},
    {"expiresAt", mutation_expires_at},
    {"ttl", mutation_ttl},
    {NULL, NULL},
};

bool atomic_read_entry(const struct atomic *atomic, struct kx_slice value,
                       struct kx_mutation *mutation, struct input_error *error)
{
    struct mutation_reading reading = {.memory = atomic->memory,
                                       .mutation = mutation,
                                       .deep = atomic->deep,
                                       .has_type = true};
    mutation->type = KX_SET;
    if (!document_read(value, ENTRY_MEMBERS, &reading, error))
        return false;
    if (mutation->key.size == 0 || (!reading.has_value && !reading.has_typed))
        return bad(error, "An entry has a key, and a value or a typed value.");
    return mutation_complete(&reading, error) && read_expiry(&reading, error);
}

/* ---- The document -------------------------------------------------------- */

/* Checks the number of elements before anything is allocated for them. */
static bool count_within(struct kx_slice array, size_t limit, size_t *count_out,
                         struct input_error *error)
{
    if (!document_count(array, count_out, error))
        return false;
    return *count_out <= limit ||
           input_error_set(error, PROBLEM_COMMIT_TOO_LARGE,
                           "There are %zu elements; the limit is %zu.",
                           *count_out, limit);
}

/* An error's pointer names the element: /checks/3/key. */
static bool read_checks(void *target, struct kx_slice array,
                        struct input_error *error)
{
    struct atomic *atomic = target;
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    size_t count;
    if (!count_within(array, KX_CHECKS_MAX, &count, error))
        return false;
    atomic->checks = talloc_zero_array(atomic->memory, struct kx_check, count);
    if (atomic->checks == NULL)
        return input_error_no_memory(error);
    kx_json_iterate(array, &iter);
    while (kx_json_next(&iter, &name, &value)) {
        size_t i = atomic->check_count++;
        if (!read_check(value, atomic->memory, &atomic->checks[i], error))
            return input_error_in_element(error, i);
    }
    return true;
}

static bool read_mutations(void *target, struct kx_slice array,
                           struct input_error *error)
{
    struct atomic *atomic = target;
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    size_t count;
    if (!count_within(array, KX_MUTATIONS_MAX, &count, error))
        return false;
    atomic->mutations =
        talloc_zero_array(atomic->memory, struct kx_mutation, count);
    if (atomic->mutations == NULL)
        return input_error_no_memory(error);
    kx_json_iterate(array, &iter);
    while (kx_json_next(&iter, &name, &value)) {
        size_t i = atomic->mutation_count++;
        if (!atomic_read_mutation(atomic, value, &atomic->mutations[i], error))
            return input_error_in_element(error, i);
    }
    return true;
}

/* The jobs may be of several queues, which is why no queue is named. */
static bool read_acks(void *target, struct kx_slice array,
                      struct input_error *error)
{
    static const struct kx_job_change ANY_QUEUE = {.pause_ms = -1};
    static const struct kx_mutation ACK = {.type = KX_ACK, .job = &ANY_QUEUE};
    struct atomic *atomic = target;
    return count_within(array, KX_MUTATIONS_MAX, &atomic->ack_count, error) &&
           receipt_read_all(array, &ACK, atomic->memory, &atomic->acks, error);
}

/* Puts the acknowledgements before the other mutations, so that a commit can
 * acknowledge a job and set its key again. */
static bool join_acks(struct atomic *atomic, struct input_error *error)
{
    size_t acks = atomic->ack_count;
    size_t count = acks + atomic->mutation_count;
    if (acks == 0)
        return true;
    if (count > KX_MUTATIONS_MAX)
        return input_error_set(error, PROBLEM_COMMIT_TOO_LARGE,
                               "ack and mutations have %zu elements together; "
                               "the limit is %d.",
                               count, KX_MUTATIONS_MAX);
    struct kx_mutation *joined = talloc_realloc(
        atomic->memory, atomic->acks, struct kx_mutation, (unsigned)count);
    if (joined == NULL)
        return input_error_no_memory(error);
    for (size_t i = 0; i < atomic->mutation_count; i++)
        joined[acks + i] = atomic->mutations[i];
    atomic->mutations = joined;
    atomic->mutation_count = count;
    return true;
}

static bool read_dry(void *target, struct kx_slice value,
                     struct input_error *error)
{
    struct atomic *atomic = target;
    return document_flag(value, &atomic->dry, error);
}

static const struct member DOCUMENT_MEMBERS[] = {
    {"checks", read_checks},
    {"mutations", read_mutations},
    {"ack", read_acks},
    {"dry", read_dry},
    {NULL, NULL},
};

bool atomic_read(struct kx_slice document, struct atomic *atomic_out,
                 struct input_error *error)
{
    *atomic_out =
        (struct atomic){.memory = atomic_out->memory, .deep = atomic_out->deep};
    return document_read(document, DOCUMENT_MEMBERS, atomic_out, error) &&
           join_acks(atomic_out, error);
}
