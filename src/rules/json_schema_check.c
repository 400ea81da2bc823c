/* One file because the schemas of objects, arrays and choices apply one
 * another.
 *
 * Applies a compiled schema to JSON text in one pass. Each function that checks
 * takes the first byte of a value and returns the byte after the value, or NULL
 * if the value is not as its schema says.
 *
 * The recursion is at most JSON_SCHEMA_DEPTH_MAX deep. A schema that is applied
 * to the same value by several others is remembered with its result, so that
 * references inside anyOf do not multiply; what is costly all the same ends
 * when its units are spent. */
#include "rules/json_schema_node.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <talloc.h>

#include "json/json_equal.h"
#include "json/json_find.h"
#include "json/json_number.h"
#include "json/json_scan.h"
#include "json/json_string.h"

enum {
    NODE_UNITS = 15, /* to apply a node to a value */
    MEMBER_UNITS = 20,
    SORT_UNITS = 60, /* to hash and sort an element under uniqueItems */
    MEMO_RESULTS = 512,
    ELEMENTS_FEW = 12 /* elements that are compared without sorting them */
};

/* The result of a node for the value at `at`. */
struct schema_result {
    const struct schema_node *node;
    const uint8_t *at;
    const uint8_t *after; /* NULL: a violation */
};

/* One check. */
struct schema_run {
    const uint8_t *end;                      /* of the text */
    struct json_schema_violation *violation; /* NULL: not wanted */
    size_t quiet; /* schemas around that may be violated */
    enum kx_status status;
    bool stopped; /* out of memory or units: no result counts */
    size_t depth;
    struct charge charge;
    struct schema_result *memo; /* NULL until needed; a newer result replaces an
                                 * older one of the same hash */
};

static inline struct kx_slice between(const uint8_t *start, const uint8_t *end)
{
    return kx_slice(start, (size_t)(end - start));
}

/* ---- Violations --------------------------------------------------------- */

static void __attribute__((format(printf, 4, 0)))
describe(struct schema_run *run, const uint8_t *at, const char *keyword,
         const char *format, va_list list)
{
    struct json_schema_violation *violation = run->violation;
    if (violation == NULL)
        return;
    violation->value = between(at, json_skip_value(at, run->end));
    snprintf(violation->keyword, sizeof violation->keyword, "%s", keyword);
    vsnprintf(violation->expected, sizeof violation->expected, format, list);
    violation->expected[kx_utf8_fit(kx_text(violation->expected),
                                    sizeof violation->expected - 2)] = '\0';
}

/* Notes that the value at `at` violates a keyword. Always NULL. */
static const uint8_t *__attribute__((format(printf, 4, 5)))
violate(struct schema_run *run, const uint8_t *at, const char *keyword,
        const char *format, ...)
{
    va_list list;
    run->status = KX_CHECK_FAILED;
    if (run->quiet > 0)
        return NULL;
    va_start(list, format);
    describe(run, at, keyword, format, list);
    va_end(list);
    return NULL;
}

/* Ends the check at a value that would take more than the limit. Always
 * NULL. */
static const uint8_t *__attribute__((format(printf, 4, 5)))
stop(struct schema_run *run, const uint8_t *at, const char *keyword,
     const char *format, ...)
{
    va_list list;
    if (run->stopped)
        return NULL;
    run->status = KX_CHECK_FAILED;
    run->stopped = true;
    va_start(list, format);
    describe(run, at, keyword, format, list);
    va_end(list);
    return NULL;
}

static const uint8_t *too_costly(struct schema_run *run, const uint8_t *at,
                                 const char *keyword)
{
    return stop(run, at, keyword,
                "a value that takes at most %d units of work a byte to check",
                (int)JSON_SCHEMA_UNITS_PER_BYTE);
}

static const uint8_t *no_memory(struct schema_run *run)
{
    run->status = KX_NO_MEMORY;
    run->stopped = true;
    return NULL;
}

/* ---- Types and values --------------------------------------------------- */

/* The type of a value by its first byte. */
static const uint8_t types[256] = {
    ['-'] = KX_JSON_NUMBER, ['0' ... '9'] = KX_JSON_NUMBER,
    ['"'] = KX_JSON_STRING, ['n'] = KX_JSON_NULL,
    ['t'] = KX_JSON_TRUE,   ['f'] = KX_JSON_FALSE,
    ['['] = KX_JSON_ARRAY,  ['{'] = KX_JSON_OBJECT};

static inline enum kx_json_type type_at(const uint8_t *at)
{
    return (enum kx_json_type)types[*at];
}

static __attribute__((noinline)) const uint8_t *
wrong_type(struct schema_run *run, const struct schema_node *node,
           const uint8_t *at)
{
    static const char *const names[] = {"null",     "a boolean", "a boolean",
                                        "a number", "a string",  "an array",
                                        "an object"};
    char text[128] = "";
    size_t size = 0;
    if (run->quiet > 0)
        return violate(run, at, "type", "a type");
    if (node->types == 0)
        return violate(run, at, node->keyword, "no value at all");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if ((node->types >> i & 1) == 0 || i == KX_JSON_TRUE)
            continue;
        const char *name = names[i];
        if (i == KX_JSON_NUMBER && node->integers_only)
            name = "an integer";
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%s",
                                 size > 0 ? " or " : "", name);
    }
    return violate(run, at, "type", "%s", text);
}

/* Lists the values that are allowed, as many as fit. */
static const uint8_t *wrong_value(struct schema_run *run,
                                  const struct schema_values *values,
                                  const uint8_t *at)
{
    char text[JSON_SCHEMA_EXPECTED_MAX - 40] = "";
    size_t size = 0;
    if (run->quiet > 0)
        return violate(run, at, values->keyword, "another value");
    if (values->count == 0)
        return violate(run, at, values->keyword, "no value at all");
    for (size_t i = 0; i < values->count; i++) {
        struct kx_slice item = values->items[i];
        if (size + item.size + 4 > sizeof text) {
            size += (size_t)snprintf(text + size, sizeof text - size, "%s",
                                     i > 0 ? ", ..." : "that in the schema");
            break;
        }
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%.*s",
                                 i > 0 ? ", " : "", (int)item.size,
                                 (const char *)item.data);
    }
    return violate(run, at, values->keyword, "%s%s",
                   values->count > 1 ? "one of " : "", text);
}

/* Without escapes, equal scalars other than numbers have equal bytes. */
static bool is_equal(struct kx_slice value, struct kx_slice item, bool escaped)
{
    enum kx_json_type type = type_at(value.data);
    if (value.size == item.size &&
        memcmp(value.data, item.data, value.size) == 0)
        return true;
    if (type != type_at(item.data))
        return false;
    if (type == KX_JSON_STRING)
        return escaped && json_string_compare(value, item) == 0;
    return json_equal_exactly(value, item);
}

static const uint8_t *check_values(struct schema_run *run,
                                   const struct schema_values *values,
                                   struct kx_slice value)
{
    bool escaped =
        values->escaped || (*value.data == '"' && schema_is_escaped(value));
    uint64_t price = 4 + (json_is_open(*value.data) ? value.size * 4 : 0);
    for (size_t i = 0; i < values->count; i++) {
        charge_add(&run->charge, price, CHARGE_PASSED);
        if (charge_passed(&run->charge))
            return too_costly(run, value.data, values->keyword);
        if (is_equal(value, values->items[i], escaped))
            return value.data + value.size;
    }
    return wrong_value(run, values, value.data);
}

/* ---- Numbers and strings ------------------------------------------------ */

/* How a number may compare with each bound: a bit for less, equal, greater. */
static const struct {
    const char *keyword;
    const char *words;
    unsigned allowed;
} bound_rows[] = {
    [SCHEMA_MINIMUM] = {"minimum", "at least", 6},
    [SCHEMA_MAXIMUM] = {"maximum", "at most", 3},
    [SCHEMA_ABOVE] = {"exclusiveMinimum", "more than", 4},
    [SCHEMA_BELOW] = {"exclusiveMaximum", "less than", 1},
    [SCHEMA_DIVISOR] = {"multipleOf", "a multiple of", 0},
};

static bool is_allowed(const struct json_decimal *value,
                       const struct schema_bound *bound)
{
    if (bound->kind == SCHEMA_DIVISOR)
        return json_decimal_is_multiple(value, &bound->number);
    int order = json_decimal_compare(value, &bound->number);
    return (bound_rows[bound->kind].allowed >> (1 + (order > 0) - (order < 0)) &
            1) != 0;
}

static bool check_bounds(struct schema_run *run,
                         const struct schema_numbers *numbers,
                         const struct json_decimal *value)
{
    for (size_t i = 0; i < numbers->count; i++) {
        const struct schema_bound *bound = &numbers->bounds[i];
        struct kx_slice token = bound->number.token;
        run->charge.spent += NODE_UNITS + value->token.size * 8;
        if (is_allowed(value, bound))
            continue;
        violate(run, value->token.data, bound_rows[bound->kind].keyword,
                "%s %.*s", bound_rows[bound->kind].words,
                kx_excerpt_size(token), (const char *)token.data);
        return false;
    }
    return true;
}

static __attribute__((noinline)) const uint8_t *
check_number(struct schema_run *run, const struct schema_node *node,
             const uint8_t *at)
{
    if (node->numbers == NULL && !node->integers_only) {
        const uint8_t *end = json_skip_value(at, run->end);
        run->charge.spent += (uint64_t)(end - at);
        return end;
    }
    struct json_decimal value = json_decimal_scan(at, run->end);
    const uint8_t *after = at + value.token.size;
    charge_add(&run->charge, value.token.size, CHARGE_PASSED);
    if (node->integers_only && !json_decimal_is_integer(&value))
        return wrong_type(run, node, at);
    return node->numbers == NULL || check_bounds(run, node->numbers, &value)
               ? after
               : NULL;
}

static uint64_t count_characters(struct kx_slice body)
{
    uint64_t count = 0;
    if (memchr(body.data, '\\', body.size) == NULL) {
        for (size_t i = 0; i < body.size; i++)
            count += (body.data[i] & 0xc0) != 0x80;
        return count;
    }
    for (; body.size > 0; count++)
        json_string_next(&body);
    return count;
}

/* True if so many bytes of a token have a number of characters within the
 * limits, however they are written: each character is at least one byte, and at
 * most a pair of \u escapes. */
static inline bool is_surely_within(struct schema_limits limits, size_t bytes)
{
    return bytes <= limits.max && bytes >= limits.min * 12;
}

static const uint8_t *check_length(struct schema_run *run,
                                   struct schema_limits limits,
                                   struct kx_slice value)
{
    struct kx_slice body = json_string_body(value);
    if (is_surely_within(limits, body.size))
        return value.data + value.size;
    charge_add(&run->charge, value.size * 3, CHARGE_PASSED);
    uint64_t count = count_characters(body);
    if (count < limits.min)
        return violate(run, value.data, "minLength",
                       "a string of at least %llu characters",
                       (unsigned long long)limits.min);
    if (count > limits.max)
        return violate(run, value.data, "maxLength",
                       "a string of at most %llu characters",
                       (unsigned long long)limits.max);
    return value.data + value.size;
}

/* Checks the length of a string where its bytes do not decide it, and its
 * pattern. */
static __attribute__((noinline)) const uint8_t *
check_characters(struct schema_run *run, const struct schema_string *string,
                 struct kx_slice value)
{
    if (check_length(run, string->length, value) == NULL)
        return NULL;
    if (string->pattern == NULL ||
        pattern_matches(string->pattern, value, &run->charge))
        return value.data + value.size;
    if (charge_passed(&run->charge))
        return too_costly(run, value.data, "pattern");
    return violate(run, value.data, "pattern", "a string that matches %.*s",
                   kx_excerpt_size(string->pattern_token),
                   (const char *)string->pattern_token.data);
}

static inline const uint8_t *check_string(struct schema_run *run,
                                          const struct schema_string *string,
                                          const uint8_t *at)
{
    const uint8_t *after = json_skip_string(at, run->end);
    size_t size = (size_t)(after - at);
    run->charge.spent += size / 4;
    if (string == NULL ||
        (string->pattern == NULL && is_surely_within(string->length, size - 2)))
        return after;
    return check_characters(run, string, kx_slice(at, size));
}

/* ---- Subschemas --------------------------------------------------------- */

static const uint8_t *check(struct schema_run *run,
                            const struct schema_node *node, const uint8_t *at);

/* True if the value is as the schema says, without a violation otherwise. */
static bool holds(struct schema_run *run, const struct schema_node *node,
                  const uint8_t *at)
{
    run->quiet++;
    bool holding = check(run, node, at) != NULL;
    run->quiet--;
    if (!run->stopped)
        run->status = KX_OK;
    return holding;
}

static size_t count_holding(struct schema_run *run,
                            const struct schema_inner *inner,
                            enum schema_way way, const uint8_t *at)
{
    size_t most = way == SCHEMA_ONE ? 2 : 1;
    size_t count = 0;
    for (size_t i = inner->begin[way];
         i < inner->begin[way + 1] && count < most && !run->stopped; i++)
        count += holds(run, inner->nodes[i], at);
    return count;
}

static size_t number_of(const struct schema_inner *inner, enum schema_way way)
{
    return inner->begin[way + 1] - inner->begin[way];
}

static void check_one(struct schema_run *run, const struct schema_inner *inner,
                      const uint8_t *at)
{
    size_t one = number_of(inner, SCHEMA_ONE);
    size_t count = count_holding(run, inner, SCHEMA_ONE, at);
    if (one > 0 && count != 1)
        violate(run, at, "oneOf",
                count == 0 ? "a value for one of the %zu schemas of oneOf"
                           : "a value for only one of the %zu schemas of oneOf",
                one);
}

/* Checks anyOf, oneOf and not. */
static bool check_choices(struct schema_run *run,
                          const struct schema_inner *inner, const uint8_t *at)
{
    size_t any = number_of(inner, SCHEMA_ANY);
    if (any > 0 && count_holding(run, inner, SCHEMA_ANY, at) == 0)
        violate(run, at, "anyOf", "a value for one of the %zu schemas of anyOf",
                any);
    if (run->status == KX_OK)
        check_one(run, inner, at);
    if (run->status == KX_OK && count_holding(run, inner, SCHEMA_NOT, at) > 0)
        violate(run, at, "not", "another value");
    return run->status == KX_OK;
}

static bool check_condition(struct schema_run *run,
                            const struct schema_inner *inner, const uint8_t *at)
{
    if (number_of(inner, SCHEMA_IF) == 0)
        return true;
    enum schema_way way = holds(run, inner->nodes[inner->begin[SCHEMA_IF]], at)
                              ? SCHEMA_THEN
                              : SCHEMA_ELSE;
    return !run->stopped &&
           (number_of(inner, way) == 0 ||
            check(run, inner->nodes[inner->begin[way]], at) != NULL);
}

/* Checks the schemas for the same value. */
static bool check_inner(struct schema_run *run,
                        const struct schema_inner *inner, const uint8_t *at)
{
    for (size_t i = 0; i < inner->begin[SCHEMA_ANY]; i++)
        if (check(run, inner->nodes[i], at) == NULL)
            return false;
    return check_choices(run, inner, at) && check_condition(run, inner, at);
}

/* ---- Arrays ------------------------------------------------------------- */

/* An element and the hash of its value. */
struct schema_element {
    uint64_t hash;
    struct kx_slice value;
};

static bool hash_value(struct schema_run *run, struct kx_slice value,
                       size_t depth, uint64_t *hash_out);

/* The hash does not depend on the order of members. */
static bool hash_children(struct schema_run *run, struct kx_json_iter iter,
                          size_t depth, uint64_t *hash_out)
{
    struct kx_slice name;
    struct kx_slice child;
    uint64_t hash = iter.object;
    while (kx_json_next(&iter, &name, &child)) {
        uint64_t name_hash = 0;
        uint64_t child_hash;
        if ((iter.object && !schema_hash(name, schema_is_escaped(name),
                                         run->end, &name_hash)) ||
            !hash_value(run, child, depth + 1, &child_hash))
            return false;
        if (iter.object)
            hash += hash_word(name_hash, child_hash);
        else
            hash = hash_word(hash, child_hash);
    }
    *hash_out = hash_word(hash, iter.object);
    return true;
}

/* Equal values have the same hash. What is nested deeper than JSON may be does
 * not count. False if memory ran out. */
static bool hash_value(struct schema_run *run, struct kx_slice value,
                       size_t depth, uint64_t *hash_out)
{
    struct kx_json_iter iter;
    enum kx_json_type type = type_at(value.data);
    *hash_out = type;
    if (type == KX_JSON_STRING)
        return schema_hash(value, schema_is_escaped(value), run->end, hash_out);
    if (type == KX_JSON_NUMBER)
        *hash_out = json_number_hash(value);
    if (!kx_json_iterate(value, &iter) || depth > KX_JSON_DEPTH_MAX)
        return true;
    return hash_children(run, iter, depth, hash_out);
}

static int compare_elements(const void *a, const void *b)
{
    const struct schema_element *x = a;
    const struct schema_element *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->value.data > y->value.data) - (x->value.data < y->value.data);
}

/* Reads and hashes the elements. Many are sorted by their hashes. */
static bool read_elements(struct schema_run *run, struct kx_json_iter iter,
                          struct schema_element *elements, size_t count)
{
    struct kx_slice name;
    for (size_t i = 0; i < count; i++) {
        kx_json_next(&iter, &name, &elements[i].value);
        charge_add(&run->charge, SORT_UNITS + elements[i].value.size * 4,
                   CHARGE_PASSED);
        if (!hash_value(run, elements[i].value, 0, &elements[i].hash)) {
            no_memory(run);
            return false;
        }
    }
    if (count > ELEMENTS_FEW)
        qsort(elements, count, sizeof *elements, compare_elements);
    return true;
}

static bool is_twin(struct schema_run *run, struct kx_slice value,
                    struct kx_slice other)
{
    charge_add(&run->charge, 20 + value.size * 4, CHARGE_PASSED);
    if (charge_passed(&run->charge))
        too_costly(run, value.data, "uniqueItems");
    else if (json_depth(value) > KX_JSON_DEPTH_MAX)
        stop(run, value.data, "uniqueItems",
             "at most %d arrays and objects inside each other",
             (int)KX_JSON_DEPTH_MAX);
    else if (json_equal_exactly(value, other))
        violate(run, value.data, "uniqueItems",
                "an element that is not in the array before");
    return run->status != KX_OK;
}

/* Compares an element with those before it that have the same hash. */
static bool has_twin(struct schema_run *run,
                     const struct schema_element *elements, size_t n,
                     bool sorted)
{
    for (size_t i = n; i-- > 0;) {
        if (elements[i].hash == elements[n].hash) {
            if (is_twin(run, elements[n].value, elements[i].value))
                return true;
        } else if (sorted) {
            return false;
        }
    }
    return false;
}

/* Compares elements of which there are not too many. */
static __attribute__((noinline)) bool
compare_all(struct schema_run *run, struct kx_json_iter iter, size_t count)
{
    struct schema_element few[ELEMENTS_FEW];
    struct schema_element *elements = few;
    if (count > ELEMENTS_FEW)
        elements = talloc_array(NULL, struct schema_element, count);
    if (elements == NULL) {
        no_memory(run);
        return false;
    }
    bool unique = read_elements(run, iter, elements, count);
    for (size_t i = 1; unique && i < count; i++)
        unique = !has_twin(run, elements, i, count > ELEMENTS_FEW);
    if (elements != few)
        talloc_free(elements);
    return unique;
}

static bool check_unique(struct schema_run *run, struct kx_slice array,
                         size_t count)
{
    struct kx_json_iter iter;
    if (count < 2 || !kx_json_iterate(array, &iter))
        return true;
    if (count <= JSON_SCHEMA_UNIQUE_MAX)
        return compare_all(run, iter, count);
    stop(run, array.data, "uniqueItems", "at most %d elements",
         (int)JSON_SCHEMA_UNIQUE_MAX);
    return false;
}

static bool check_array_counts(struct schema_run *run,
                               const struct schema_array *schema,
                               const uint8_t *at, size_t count,
                               uint64_t contained)
{
    if (count < schema->count.min)
        violate(run, at, "minItems", "an array of at least %llu elements",
                (unsigned long long)schema->count.min);
    else if (count > schema->count.max)
        violate(run, at, "maxItems", "an array of at most %llu elements",
                (unsigned long long)schema->count.max);
    else if (schema->contains != NULL && contained < schema->contained.min)
        violate(run, at,
                schema->contained.min == 1 ? "contains" : "minContains",
                "at least %llu elements as contains says",
                (unsigned long long)schema->contained.min);
    else if (schema->contains != NULL && contained > schema->contained.max)
        violate(run, at, "maxContains",
                "at most %llu elements as contains says",
                (unsigned long long)schema->contained.max);
    return run->status == KX_OK;
}

static const uint8_t *check_element(struct schema_run *run,
                                    const struct schema_array *schema,
                                    const uint8_t *at, size_t index)
{
    const struct schema_node *node =
        index < schema->prefix_count ? schema->prefix[index] : schema->items;
    if (node != NULL)
        return check(run, node, at);
    const uint8_t *after = json_skip_value(at, run->end);
    charge_add(&run->charge, (uint64_t)(after - at), CHARGE_PASSED);
    return after;
}

static const uint8_t *check_array(struct schema_run *run,
                                  const struct schema_array *schema,
                                  const uint8_t *at)
{
    const uint8_t *start = at;
    size_t count = 0;
    uint64_t contained = 0;
    at = json_skip_gap(at + 1);
    while (*at != ']') {
        if (schema->contains != NULL && contained <= schema->contained.max)
            contained += holds(run, schema->contains, at);
        at = run->stopped ? NULL : check_element(run, schema, at, count);
        if (at == NULL)
            return NULL;
        if (charge_passed(&run->charge))
            return too_costly(run, start, "items");
        count++;
        at = json_skip_gap(at);
        if (*at == ',')
            at = json_skip_gap(at + 1);
    }
    at++;
    if (!check_array_counts(run, schema, start, count, contained) ||
        (schema->unique && !check_unique(run, between(start, at), count)))
        return NULL;
    return at;
}

/* ---- Objects ------------------------------------------------------------ */

/* The row of a member's name; NULL if the schema does not mention the name, or
 * memory ran out. */
static inline const struct schema_name *
find_name(struct schema_run *run, const struct schema_object *object,
          struct kx_slice token, bool escaped)
{
    uint64_t hash;
    if (!schema_hash(token, escaped, run->end, &hash)) {
        no_memory(run);
        return NULL;
    }
    size_t exact = escaped ? 0 : JSON_NAME_EXACT + 2;
    for (size_t at = hash >> 32 & object->mask;; at = (at + 1) & object->mask) {
        const struct schema_name *row = &object->names[at];
        if (row->token.size == 0)
            return NULL;
        if (row->hash != hash)
            continue;
        if (row->token.size == token.size && token.size <= exact &&
            !row->escaped)
            return row;
        if (json_string_equal(row->token, token))
            return row;
    }
}

/* True if the object at `at` has a member of this name. */
static bool has_member(struct schema_run *run, const uint8_t *at,
                       struct kx_slice token)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice child;
    if (!kx_json_iterate(between(at, run->end), &iter))
        return false;
    while (kx_json_next(&iter, &name, &child)) {
        charge_add(&run->charge, MEMBER_UNITS + name.size + child.size,
                   CHARGE_PASSED);
        if (json_string_equal(name, token))
            return true;
    }
    return false;
}

static const uint8_t *miss(struct schema_run *run, const uint8_t *at,
                           const char *keyword, struct kx_slice token)
{
    return violate(run, at, keyword, "a member %.*s", kx_excerpt_size(token),
                   (const char *)token.data);
}

/* Names one of the required members that the object does not have. */
static const uint8_t *miss_required(struct schema_run *run,
                                    const struct schema_object *object,
                                    const uint8_t *at)
{
    run->status = KX_CHECK_FAILED;
    for (size_t i = 0; run->quiet == 0 && i <= object->mask; i++) {
        const struct schema_name *row = &object->names[i];
        if (row->required && !has_member(run, at, row->token))
            return miss(run, at, "required", row->token);
    }
    return NULL;
}

/* Checks that the object at `at` has each member of a list. */
static bool check_list(struct schema_run *run, struct kx_slice list,
                       const uint8_t *at)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice token;
    if (!kx_json_iterate(list, &iter))
        return true;
    while (kx_json_next(&iter, &name, &token)) {
        if (charge_passed(&run->charge))
            return too_costly(run, at, "dependentRequired") != NULL;
        if (!has_member(run, at, token))
            return miss(run, at, "dependentRequired", token) != NULL;
    }
    return true;
}

static bool check_dependents(struct schema_run *run,
                             const struct schema_object *object,
                             const uint8_t *at)
{
    for (size_t i = 0; i < object->dependent_count; i++) {
        const struct schema_dependent *dependent = &object->dependents[i];
        if (!has_member(run, at, dependent->token))
            continue;
        if (dependent->node != NULL ? check(run, dependent->node, at) == NULL
                                    : !check_list(run, dependent->required, at))
            return false;
    }
    return true;
}

/* Checks what depends on all members of the object at `at`. */
static bool check_whole_object(struct schema_run *run,
                               const struct schema_object *object,
                               const uint8_t *at, size_t count, size_t required)
{
    if (required < object->required_count)
        miss_required(run, object, at);
    else if (count < object->count.min)
        violate(run, at, "minProperties", "an object of at least %llu members",
                (unsigned long long)object->count.min);
    else if (count > object->count.max)
        violate(run, at, "maxProperties", "an object of at most %llu members",
                (unsigned long long)object->count.max);
    return run->status == KX_OK && check_dependents(run, object, at);
}

/* Checks a value by the patterns that the member's name matches. *found_out
 * becomes the byte after the value if there is one. */
static bool check_patterns(struct schema_run *run,
                           const struct schema_object *object,
                           struct kx_slice name, const uint8_t *at,
                           const uint8_t **found_out)
{
    for (size_t i = 0; i < object->pattern_count; i++) {
        const struct schema_pattern *row = &object->patterns[i];
        charge_add(&run->charge, NODE_UNITS, CHARGE_PASSED);
        if (!pattern_matches(row->pattern, name, &run->charge)) {
            if (!charge_passed(&run->charge))
                continue;
            return too_costly(run, at, "patternProperties") != NULL;
        }
        *found_out = check(run, row->node, at);
        if (*found_out == NULL)
            return false;
    }
    return true;
}

/* Checks the value of a member that neither a row nor a pattern names. */
static const uint8_t *check_additional(struct schema_run *run,
                                       const struct schema_object *object,
                                       struct kx_slice name, const uint8_t *at)
{
    const struct schema_node *node = object->additional;
    if (node == NULL) {
        const uint8_t *after = json_skip_value(at, run->end);
        charge_add(&run->charge, (uint64_t)(after - at), CHARGE_PASSED);
        return after;
    }
    if (node->types != 0)
        return check(run, node, at);
    return violate(run, at, "additionalProperties", "no member %.*s",
                   kx_excerpt_size(name), (const char *)name.data);
}

/* Checks a value by the row of its name, if there is one, by patterns, or as an
 * additional member. */
static const uint8_t *check_by_patterns(struct schema_run *run,
                                        const struct schema_object *object,
                                        struct kx_slice name, const uint8_t *at,
                                        const struct schema_name *row)
{
    const uint8_t *after = NULL;
    if (run->stopped)
        return NULL;
    if (row != NULL && row->node != NULL) {
        after = check(run, row->node, at);
        if (after == NULL)
            return NULL;
    }
    if (!check_patterns(run, object, name, at, &after))
        return NULL;
    return after != NULL ? after : check_additional(run, object, name, at);
}

/* Checks a member from its name on. */
static inline const uint8_t *check_member(struct schema_run *run,
                                          const struct schema_object *object,
                                          const uint8_t *at, size_t *required)
{
    const uint8_t *after = json_skip_to_end(at + 1, run->end);
    bool escaped = *after == '\\';
    after = escaped ? json_skip_string(at, run->end) : after + 1;
    struct kx_slice name = between(at, after);
    run->charge.spent += MEMBER_UNITS + name.size;
    if (object->property_names != NULL &&
        check(run, object->property_names, at) == NULL)
        return NULL;
    const struct schema_name *row = find_name(run, object, name, escaped);
    at = json_skip_gap(json_skip_gap(after) + 1);
    if (row != NULL) {
        *required += row->required;
        if (row->node != NULL && object->pattern_count == 0)
            return check(run, row->node, at);
    }
    return check_by_patterns(run, object, name, at, row);
}

static const uint8_t *check_object(struct schema_run *run,
                                   const struct schema_object *object,
                                   const uint8_t *at)
{
    const uint8_t *start = at;
    size_t required = 0;
    size_t count = 0;
    at = json_skip_gap(at + 1);
    for (; *at != '}'; count++) {
        at = check_member(run, object, at, &required);
        if (at == NULL)
            return NULL;
        if (charge_passed(&run->charge))
            return too_costly(run, start, "properties");
        at = json_skip_gap(at);
        if (*at == ',')
            at = json_skip_gap(at + 1);
    }
    return check_whole_object(run, object, start, count, required) ? at + 1
                                                                   : NULL;
}

/* ---- Schemas ------------------------------------------------------------ */

static __attribute__((noinline)) const uint8_t *
check_container(struct schema_run *run, const struct schema_node *node,
                const uint8_t *at)
{
    if (*at == '{' && node->object != NULL)
        return check_object(run, node->object, at);
    if (*at == '[' && node->array != NULL)
        return check_array(run, node->array, at);
    const uint8_t *after = json_skip_value(at, run->end);
    charge_add(&run->charge, (uint64_t)(after - at), CHARGE_PASSED);
    return after;
}

/* Checks what the keywords for this type say. */
static inline const uint8_t *check_typed(struct schema_run *run,
                                         const struct schema_node *node,
                                         const uint8_t *at,
                                         enum kx_json_type type)
{
    if (type == KX_JSON_STRING)
        return check_string(run, node->string, at);
    if (type == KX_JSON_NUMBER)
        return check_number(run, node, at);
    if (type <= KX_JSON_TRUE)
        return at + (type == KX_JSON_FALSE ? 5 : 4);
    return check_container(run, node, at);
}

static __attribute__((noinline)) const uint8_t *
check_new(struct schema_run *run, const struct schema_node *node,
          const uint8_t *at, enum kx_json_type type)
{
    if (charge_passed(&run->charge))
        return too_costly(run, at, node->keyword);
    if (run->depth == JSON_SCHEMA_DEPTH_MAX)
        return stop(run, at, node->keyword,
                    "at most %d schemas that apply inside each other",
                    (int)JSON_SCHEMA_DEPTH_MAX);
    run->depth++;
    const uint8_t *after = check_typed(run, node, at, type);
    if (after != NULL && node->inner != NULL &&
        !check_inner(run, node->inner, at))
        after = NULL;
    run->depth--;
    if (after != NULL && node->values != NULL)
        after = check_values(run, node->values, between(at, after));
    if (after != NULL && node->constant != NULL)
        after = check_values(run, node->constant, between(at, after));
    return after;
}

/* The place of a result; NULL if memory ran out. */
static struct schema_result *find_result(struct schema_run *run,
                                         const struct schema_node *node,
                                         const uint8_t *at)
{
    if (run->memo == NULL)
        run->memo = talloc_zero_array(NULL, struct schema_result, MEMO_RESULTS);
    if (run->memo == NULL)
        return NULL;
    uint64_t hash =
        hash_word((uint64_t)(uintptr_t)node, (uint64_t)(uintptr_t)at);
    return &run->memo[hash % MEMO_RESULTS];
}

/* Checks, or takes the result of an earlier check. A violation that has not
 * been described yet is checked again. */
static const uint8_t *check_once(struct schema_run *run,
                                 const struct schema_node *node,
                                 const uint8_t *at, enum kx_json_type type)
{
    struct schema_result *result = find_result(run, node, at);
    if (result == NULL)
        return no_memory(run);
    if (result->node == node && result->at == at &&
        (result->after != NULL || run->quiet > 0)) {
        if (result->after == NULL)
            run->status = KX_CHECK_FAILED;
        return result->after;
    }
    const uint8_t *after = check_new(run, node, at, type);
    if (!run->stopped)
        *result =
            (struct schema_result){.node = node, .at = at, .after = after};
    return after;
}

static __attribute__((noinline)) const uint8_t *
check_deep(struct schema_run *run, const struct schema_node *node,
           const uint8_t *at)
{
    enum kx_json_type type = type_at(at);
    return node->shared ? check_once(run, node, at, type)
                        : check_new(run, node, at, type);
}

/* The functions that check scalars are called last, and need no stack. */
static const uint8_t *check(struct schema_run *run,
                            const struct schema_node *node, const uint8_t *at)
{
    enum kx_json_type type = type_at(at);
    run->charge.spent += NODE_UNITS;
    if ((node->types >> type & 1) == 0)
        return wrong_type(run, node, at);
    if (!node->plain || type >= KX_JSON_ARRAY)
        return check_deep(run, node, at);
    return check_typed(run, node, at, type);
}

enum kx_status json_schema_check(const struct json_schema *schema,
                                 struct kx_slice json, struct charge *charge,
                                 struct json_schema_violation *violation_out)
{
    const uint8_t *end = json.data + json.size;
    struct schema_run run = {
        .end = end,
        .violation = violation_out,
        .charge = {.most = JSON_SCHEMA_UNITS_MORE +
                           json.size * (uint64_t)JSON_SCHEMA_UNITS_PER_BYTE}};
    check(&run, schema->root, json_skip_space(json.data, end));
    talloc_free(run.memo);
    charge_add(charge, run.charge.spent, CHARGE_PASSED);
    if (run.status == KX_CHECK_FAILED && violation_out != NULL)
        json_pointer_write(json, violation_out->value.data,
                           violation_out->pointer,
                           sizeof violation_out->pointer);
    return run.status;
}
