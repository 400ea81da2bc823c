/* Applies a compiled schema to JSON text in one pass. Each function takes the
 * first byte of a value and returns the byte after the value, or NULL if the
 * value is not as its schema says. */
#include "rules/json_schema_node.h"

#include <stdarg.h>
#include <stdio.h>

#include "json/json_equal.h"
#include "json/json_find.h"
#include "json/json_number.h"
#include "json/json_scan.h"
#include "json/json_string.h"

/* One check. */
struct schema_run {
    const uint8_t *end;                      /* of the text */
    struct json_schema_violation *violation; /* NULL: of no interest */
    enum kx_status status;
    size_t depth;
};

static inline struct kx_slice between(const uint8_t *start, const uint8_t *end)
{
    return kx_slice(start, (size_t)(end - start));
}

/* Notes the violation of a keyword by the value at `at`. Always NULL. */
static const uint8_t *__attribute__((format(printf, 4, 5)))
violate(struct schema_run *run, const uint8_t *at, const char *keyword,
        const char *format, ...)
{
    struct json_schema_violation *violation = run->violation;
    va_list list;
    run->status = KX_CHECK_FAILED;
    if (violation == NULL)
        return NULL;
    violation->value = between(at, json_skip_value(at, run->end));
    snprintf(violation->keyword, sizeof violation->keyword, "%s", keyword);
    va_start(list, format);
    vsnprintf(violation->expected, sizeof violation->expected, format, list);
    va_end(list);
    return NULL;
}

/* ---- Types -------------------------------------------------------------- */

static enum kx_json_type type_at(const uint8_t *at, const uint8_t *end)
{
    return kx_json_type(between(at, end));
}

/* An integer has no digits after its point that are not 0. */
static bool is_integer(struct kx_slice number)
{
    for (size_t i = number.data[0] == '-'; i < number.size; i++)
        if (!json_is_digit(number.data[i]))
            return json_number_is_integer(number);
    return true;
}

static const uint8_t *wrong_type(struct schema_run *run,
                                 const struct schema_node *node,
                                 const uint8_t *at)
{
    static const char *const names[] = {"null",     "a boolean", "a boolean",
                                        "a number", "a string",  "an array",
                                        "an object"};
    char text[128] = "";
    size_t size = 0;
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

static const uint8_t *check_values(struct schema_run *run,
                                   const struct schema_values *values,
                                   struct kx_slice value)
{
    for (size_t i = 0; i < values->count; i++)
        if (json_equal_exactly(value, values->items[i]))
            return value.data + value.size;
    return violate(run, value.data, "enum", "one of the values of enum");
}

static const uint8_t *check_numbers(struct schema_run *run,
                                    const struct schema_numbers *numbers,
                                    struct kx_slice value)
{
    struct kx_slice least = numbers->minimum;
    struct kx_slice most = numbers->maximum;
    if (least.size > 0 && json_number_compare(value, least) < 0)
        return violate(run, value.data, "minimum", "at least %.*s",
                       (int)least.size, (const char *)least.data);
    if (most.size > 0 && json_number_compare(value, most) > 0)
        return violate(run, value.data, "maximum", "at most %.*s",
                       (int)most.size, (const char *)most.data);
    return value.data + value.size;
}

/* ---- Objects ------------------------------------------------------------ */

static const uint8_t *check(struct schema_run *run,
                            const struct schema_node *node, const uint8_t *at);

/* The row of a member's name; NULL if the schema does not mention the name. */
static const struct schema_name *find_name(struct schema_run *run,
                                           const struct schema_object *object,
                                           struct kx_slice token)
{
    uint64_t hash;
    if (memchr(token.data, '\\', token.size) == NULL) {
        hash = json_name_hash(token.data + 1, token.data + token.size - 1,
                              run->end);
    } else if (!json_name_hash_escaped(token, &hash)) {
        run->status = KX_NO_MEMORY;
        return NULL;
    }
    for (size_t at = hash >> 32 & object->mask;
         object->names[at].token.size > 0; at = (at + 1) & object->mask)
        if (object->names[at].hash == hash &&
            json_string_equal(object->names[at].token, token))
            return &object->names[at];
    return NULL;
}

static const uint8_t *miss_required(struct schema_run *run,
                                    const struct schema_object *object,
                                    const uint8_t *at)
{
    struct kx_slice value = between(at, json_skip_value(at, run->end));
    for (size_t i = 0; i <= object->mask; i++) {
        const struct schema_name *row = &object->names[i];
        struct kx_json_iter iter;
        struct kx_slice name;
        struct kx_slice child;
        bool found = !row->required || !kx_json_iterate(value, &iter);
        while (!found && kx_json_next(&iter, &name, &child))
            found = json_string_equal(name, row->token);
        if (!found)
            return violate(run, at, "required", "a member %.*s",
                           kx_excerpt_size(row->token),
                           (const char *)row->token.data);
    }
    return NULL;
}

static const uint8_t *check_member(struct schema_run *run,
                                   const struct schema_object *object,
                                   const uint8_t *at, size_t *required)
{
    const uint8_t *after = json_skip_string(at, run->end);
    const struct schema_name *row = find_name(run, object, between(at, after));
    at = json_skip_gap(json_skip_gap(after) + 1);
    if (row == NULL)
        return run->status == KX_OK ? json_skip_value(at, run->end) : NULL;
    *required += row->required;
    return row->node != NULL ? check(run, row->node, at)
                             : json_skip_value(at, run->end);
}

static const uint8_t *check_object(struct schema_run *run,
                                   const struct schema_object *object,
                                   const uint8_t *at)
{
    const uint8_t *start = at;
    size_t required = 0;
    at = json_skip_gap(at + 1);
    while (*at != '}') {
        at = check_member(run, object, at, &required);
        if (at == NULL)
            return NULL;
        at = json_skip_gap(at);
        if (*at == ',')
            at = json_skip_gap(at + 1);
    }
    return required == object->required_count
               ? at + 1
               : miss_required(run, object, start);
}

/* ---- Schemas ------------------------------------------------------------ */

static const uint8_t *check_number(struct schema_run *run,
                                   const struct schema_node *node,
                                   const uint8_t *at)
{
    struct kx_slice value = between(at, json_skip_value(at, run->end));
    if (node->integers_only && !is_integer(value))
        return wrong_type(run, node, at);
    return node->numbers != NULL ? check_numbers(run, node->numbers, value)
                                 : value.data + value.size;
}

/* Checks what the keywords for this type say. */
static const uint8_t *check_typed(struct schema_run *run,
                                  const struct schema_node *node,
                                  const uint8_t *at, enum kx_json_type type)
{
    if (type == KX_JSON_NUMBER)
        return check_number(run, node, at);
    if (type == KX_JSON_OBJECT && node->object != NULL)
        return check_object(run, node->object, at);
    return json_skip_value(at, run->end);
}

static const uint8_t *check(struct schema_run *run,
                            const struct schema_node *node, const uint8_t *at)
{
    enum kx_json_type type = type_at(at, run->end);
    if ((node->types >> type & 1) == 0)
        return wrong_type(run, node, at);
    if (run->depth == JSON_SCHEMA_DEPTH_MAX)
        return violate(run, at, node->keyword,
                       "at most %d schemas inside each other",
                       (int)JSON_SCHEMA_DEPTH_MAX);
    run->depth++;
    const uint8_t *after = check_typed(run, node, at, type);
    run->depth--;
    if (after != NULL && node->values != NULL)
        return check_values(run, node->values, between(at, after));
    return after;
}

enum kx_status json_schema_check(const struct json_schema *schema,
                                 struct kx_slice json, struct charge *charge,
                                 struct json_schema_violation *violation_out)
{
    const uint8_t *end = json.data + json.size;
    struct schema_run run = {
        .end = end, .violation = violation_out, .status = KX_OK};
    charge_add(charge, json.size, CHARGE_PASSED);
    check(&run, schema->root, json_skip_space(json.data, end));
    if (run.status == KX_CHECK_FAILED && violation_out != NULL)
        json_pointer_write(json, violation_out->value.data,
                           violation_out->pointer,
                           sizeof violation_out->pointer);
    return run.status;
}
