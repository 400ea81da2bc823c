/* One mutation of POST /atomic. Its members are read by a table into a
 * `reading`, which also notes which members there were: what must or must not
 * stand together is decided once all of them have been seen. */
#include "commits/atomic.h"

#include <talloc.h>

#include "rest/key_text.h"
#include "rest/document.h"
#include "rest/ttl.h"
#include "rest/entryjson.h"

static bool bad(struct input_error *error, const char *detail)
{
    return input_error_set(error, PROBLEM_BAD_REQUEST, "%s", detail);
}

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
    return atomic_read_by(value, reading->memory, &reading->mutation->by,
                          error);
}

/* The levels of the document around it do not count. */
static bool fits_depth(const struct mutation_reading *reading,
                       struct kx_slice value, struct input_error *error)
{
    struct kx_fault fault = {0};
    return !reading->deep || kx_json_check(value, &fault) == KX_OK ||
           input_error_fault(error, &fault);
}

/* The bytes of the value are kept as they are; they are a slice of the body. */
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

/* Operations of a patch. They are read when they are carried out. */
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

/* A time that has passed is taken: the entry is gone at once, as it would be if
 * it had been stored in time. */
static bool mutation_expires_at(void *target, struct kx_slice value,
                                struct input_error *error)
{
    struct mutation_reading *reading = target;
    reading->has_expires_at = true;
    return ttl_expires_at(value, &reading->mutation->expires_at_ms, error);
}

/* "versionstamp" asks the writer for one more part of the key, which only it
 * can know: the stamp that the commit gets. */
static bool mutation_suffix(void *target, struct kx_slice value,
                            struct input_error *error)
{
    struct mutation_reading *reading = target;
    if (!kx_equal(value, kx_text("\"versionstamp\"")))
        return bad(error, "The only suffix is \"versionstamp\".");
    reading->mutation->suffix_stamp = true;
    return true;
}

/* Sets *place_out to the place of the text in a list that ends with NULL. False
 * with the detail as the error if it is not there. */
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

/* A bound is a number, or typed as the operand is. */
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

/* Are the bounds numbers of the operand's type, which can be kept? */
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

/* Bounds go with a sum. */
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

/* Without a time, an entry that sum, min, max or patch changes keeps its own. A
 * time to live counts from when the request is read, not from when it is
 * committed. */
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

/* Each type takes an operand, a time of expiry, or both. */
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

/* What a mutation must have, by its type. */
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

/* What goes together in a mutation. */
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
    case KX_DELETE_RANGE:
    case KX_PATCH_RANGE:
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
