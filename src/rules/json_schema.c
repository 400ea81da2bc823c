/* One file because all keywords share the draft of a schema and its errors.
 *
 * Compiles a JSON Schema into nodes. Every member of a schema is a keyword of a
 * table; an unknown one is refused, because a typing error would otherwise
 * allow what it was meant to forbid.
 *
 * All schemas in the document are compiled first. Then references are resolved;
 * a reference to another place of the document compiles what is there. At the
 * end the nodes that apply one another to the same value are put in order,
 * which shows circles. */
#include "rules/json_schema_node.h"

#include <stdarg.h>
#include <stdio.h>

#include <talloc.h>

#include "json/json_equal.h"
#include "json/json_find.h"
#include "json/json_number.h"
#include "json/json_scan.h"
#include "json/json_string.h"

/* ---- Keywords ----------------------------------------------------------- */

enum schema_keyword {
    KEYWORD_SCHEMA,
    KEYWORD_ID,
    KEYWORD_ANCHOR,
    KEYWORD_REF,
    KEYWORD_DEFS,
    KEYWORD_DEFINITIONS,
    KEYWORD_TYPE,
    KEYWORD_ENUM,
    KEYWORD_CONST,
    KEYWORD_MINIMUM,
    KEYWORD_MAXIMUM,
    KEYWORD_EXCLUSIVE_MINIMUM,
    KEYWORD_EXCLUSIVE_MAXIMUM,
    KEYWORD_MULTIPLE_OF,
    KEYWORD_MIN_LENGTH,
    KEYWORD_MAX_LENGTH,
    KEYWORD_PATTERN,
    KEYWORD_PREFIX_ITEMS,
    KEYWORD_ITEMS,
    KEYWORD_CONTAINS,
    KEYWORD_MIN_CONTAINS,
    KEYWORD_MAX_CONTAINS,
    KEYWORD_MIN_ITEMS,
    KEYWORD_MAX_ITEMS,
    KEYWORD_UNIQUE_ITEMS,
    KEYWORD_PROPERTIES,
    KEYWORD_PATTERN_PROPERTIES,
    KEYWORD_ADDITIONAL_PROPERTIES,
    KEYWORD_PROPERTY_NAMES,
    KEYWORD_REQUIRED,
    KEYWORD_MIN_PROPERTIES,
    KEYWORD_MAX_PROPERTIES,
    KEYWORD_DEPENDENT_REQUIRED,
    KEYWORD_DEPENDENT_SCHEMAS,
    KEYWORD_ALL_OF,
    KEYWORD_ANY_OF,
    KEYWORD_ONE_OF,
    KEYWORD_NOT,
    KEYWORD_IF,
    KEYWORD_THEN,
    KEYWORD_ELSE,
    KEYWORD_COUNT
};

static const char *const keyword_names[KEYWORD_COUNT] = {
    [KEYWORD_SCHEMA] = "$schema",
    [KEYWORD_ID] = "$id",
    [KEYWORD_ANCHOR] = "$anchor",
    [KEYWORD_REF] = "$ref",
    [KEYWORD_DEFS] = "$defs",
    [KEYWORD_DEFINITIONS] = "definitions",
    [KEYWORD_TYPE] = "type",
    [KEYWORD_ENUM] = "enum",
    [KEYWORD_CONST] = "const",
    [KEYWORD_MINIMUM] = "minimum",
    [KEYWORD_MAXIMUM] = "maximum",
    [KEYWORD_EXCLUSIVE_MINIMUM] = "exclusiveMinimum",
    [KEYWORD_EXCLUSIVE_MAXIMUM] = "exclusiveMaximum",
    [KEYWORD_MULTIPLE_OF] = "multipleOf",
    [KEYWORD_MIN_LENGTH] = "minLength",
    [KEYWORD_MAX_LENGTH] = "maxLength",
    [KEYWORD_PATTERN] = "pattern",
    [KEYWORD_PREFIX_ITEMS] = "prefixItems",
    [KEYWORD_ITEMS] = "items",
    [KEYWORD_CONTAINS] = "contains",
    [KEYWORD_MIN_CONTAINS] = "minContains",
    [KEYWORD_MAX_CONTAINS] = "maxContains",
    [KEYWORD_MIN_ITEMS] = "minItems",
    [KEYWORD_MAX_ITEMS] = "maxItems",
    [KEYWORD_UNIQUE_ITEMS] = "uniqueItems",
    [KEYWORD_PROPERTIES] = "properties",
    [KEYWORD_PATTERN_PROPERTIES] = "patternProperties",
    [KEYWORD_ADDITIONAL_PROPERTIES] = "additionalProperties",
    [KEYWORD_PROPERTY_NAMES] = "propertyNames",
    [KEYWORD_REQUIRED] = "required",
    [KEYWORD_MIN_PROPERTIES] = "minProperties",
    [KEYWORD_MAX_PROPERTIES] = "maxProperties",
    [KEYWORD_DEPENDENT_REQUIRED] = "dependentRequired",
    [KEYWORD_DEPENDENT_SCHEMAS] = "dependentSchemas",
    [KEYWORD_ALL_OF] = "allOf",
    [KEYWORD_ANY_OF] = "anyOf",
    [KEYWORD_ONE_OF] = "oneOf",
    [KEYWORD_NOT] = "not",
    [KEYWORD_IF] = "if",
    [KEYWORD_THEN] = "then",
    [KEYWORD_ELSE] = "else",
};

/* Keywords with any value that assert nothing. */
static const char *const annotations[] = {
    "$comment",   "title",           "description",      "default",
    "deprecated", "readOnly",        "writeOnly",        "examples",
    "format",     "contentEncoding", "contentMediaType", "contentSchema",
};

/* Keywords of 2020-12 and of earlier drafts that are refused by name. */
static const struct {
    const char *name;
    const char *reason;
} refused[] = {
    {"unevaluatedItems", "use items instead"},
    {"unevaluatedProperties", "use additionalProperties instead"},
    {"$dynamicRef", "use $ref instead"},
    {"$dynamicAnchor", "use $anchor instead"},
    {"$recursiveRef", "use $ref instead"},
    {"$recursiveAnchor", "use $anchor instead"},
    {"$vocabulary", "it is for meta-schemas"},
    {"additionalItems", "use items after prefixItems instead"},
    {"dependencies", "use dependentRequired or dependentSchemas instead"},
    {"id", "use $id instead"},
};

/* A reference that is not resolved yet. */
struct schema_reference {
    struct kx_slice token;           /* the value of $ref */
    const struct schema_node **slot; /* for the node that it leads to */
};

struct schema_anchor {
    struct kx_slice token;
    struct kx_slice schema;
};

/* A schema that is being compiled. */
struct schema_compiler {
    struct json_schema *schema;
    struct kx_fault *fault;
    enum kx_status status; /* of the first error */
    struct kx_slice root;
    struct kx_slice id; /* the value of $id of the root; or size 0 */
    size_t positions;   /* of all patterns */
    /* Temporary, each with room for all values of the text. */
    void *memory;
    struct schema_node **nodes; /* a hash table by place in the text */
    size_t mask;                /* the number of its slots - 1 */
    struct schema_reference *references;
    size_t reference_count;
    struct schema_anchor *anchors;
    size_t anchor_count;
};

/* One subschema: its node, and the value of each keyword; size 0 without the
 * keyword. */
struct schema_draft {
    struct schema_node *node;
    struct kx_slice given[KEYWORD_COUNT];
};

/* ---- Errors and memory -------------------------------------------------- */

static bool is_well(const struct schema_compiler *compiler)
{
    return compiler->status == KX_OK;
}

/* Notes that the value at `at` is wrong, unless an error was noted before.
 * Always false. */
static bool __attribute__((format(printf, 3, 4)))
refuse(struct schema_compiler *compiler, const uint8_t *at, const char *format,
       ...)
{
    char detail[KX_DETAIL_MAX];
    va_list list;
    if (!is_well(compiler))
        return false;
    va_start(list, format);
    vsnprintf(detail, sizeof detail, format, list);
    va_end(list);
    compiler->status = kx_fail(compiler->fault, KX_BAD_VALUE, "%s", detail);
    if (compiler->fault != NULL)
        json_pointer_write(compiler->schema->text, at, compiler->fault->pointer,
                           sizeof compiler->fault->pointer);
    return false;
}

static bool out_of_memory(struct schema_compiler *compiler)
{
    compiler->status = kx_fail(compiler->fault, KX_NO_MEMORY, "memory ran out");
    return false;
}

/* Returns zeroed memory under `owner`; NULL if memory ran out. */
static void *take_under(struct schema_compiler *compiler, const void *owner,
                        size_t count, size_t size)
{
    void *memory = talloc_zero_size(owner, (count > 0 ? count : 1) * size);
    if (memory == NULL)
        out_of_memory(compiler);
    return memory;
}

/* Returns memory of the schema. */
static void *take(struct schema_compiler *compiler, size_t count, size_t size)
{
    return take_under(compiler, compiler->schema, count, size);
}

/* Returns memory that is freed at the end of the compilation. */
static void *take_scratch(struct schema_compiler *compiler, size_t count,
                          size_t size)
{
    return take_under(compiler, compiler->memory, count, size);
}

static bool expect(struct schema_compiler *compiler, struct kx_slice value,
                   enum kx_json_type type, const char *sentence)
{
    return kx_json_type(value) == type ||
           refuse(compiler, value.data, "%s", sentence);
}

static size_t count_children(struct kx_slice value)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice child;
    size_t count = 0;
    if (value.size > 0 && kx_json_iterate(value, &iter))
        while (kx_json_next(&iter, &name, &child))
            count++;
    return count;
}

/* Begins to iterate over a value that must be of this type (an array or an
 * object). */
static bool iterate(struct schema_compiler *compiler, struct kx_slice value,
                    enum kx_json_type type, const char *sentence,
                    struct kx_json_iter *iter_out)
{
    expect(compiler, value, type, sentence);
    return is_well(compiler) && kx_json_iterate(value, iter_out);
}

static bool has(const struct schema_draft *draft, enum schema_keyword keyword)
{
    return draft->given[keyword].size > 0;
}

static bool has_any(const struct schema_draft *draft, enum schema_keyword first,
                    enum schema_keyword last)
{
    bool any = false;
    for (int keyword = (int)first; keyword <= (int)last; keyword++)
        any |= draft->given[keyword].size > 0;
    return any;
}

/* True for a number of at least 0. */
static bool is_quantity(struct kx_slice value)
{
    return kx_json_type(value) == KX_JSON_NUMBER &&
           json_number_compare(value, kx_text("0")) >= 0;
}

/* Reads a count, which may be written as 2.0. Without the keyword *out stays as
 * it is. */
static void take_count(struct schema_compiler *compiler,
                       const struct schema_draft *draft,
                       enum schema_keyword keyword, uint64_t *out)
{
    struct kx_slice value = draft->given[keyword];
    double number = 0;
    if (value.size == 0)
        return;
    struct json_decimal decimal = json_decimal_read(value);
    if (!is_quantity(value) || !json_decimal_is_integer(&decimal) ||
        !kx_number_parse(value, &number))
        refuse(compiler, value.data, "%s is an integer of at least 0",
               keyword_names[keyword]);
    *out = number < 0x1p53 ? (uint64_t)number : UINT64_MAX;
}

/* ---- Nodes -------------------------------------------------------------- */

static bool compile_members(struct schema_compiler *compiler,
                            struct schema_node *node, struct kx_slice value);

/* The slot of the schema at this place of the text. */
static struct schema_node **node_slot(const struct schema_compiler *compiler,
                                      const uint8_t *at)
{
    size_t offset = (size_t)(at - compiler->schema->text.data);
    size_t slot = offset * HASH_FACTOR >> 32 & compiler->mask;
    while (compiler->nodes[slot] != NULL && compiler->nodes[slot]->at != at)
        slot = (slot + 1) & compiler->mask;
    return &compiler->nodes[slot];
}

static struct schema_node *new_node(struct schema_compiler *compiler,
                                    struct kx_slice value, const char *keyword)
{
    struct schema_node *node = take(compiler, 1, sizeof *node);
    if (node == NULL)
        return NULL;
    *node_slot(compiler, value.data) = node;
    node->at = value.data;
    node->keyword = keyword;
    node->plain = true;
    node->types = kx_json_type(value) == KX_JSON_FALSE ? 0 : SCHEMA_ANY_TYPE;
    return node;
}

static bool is_boolean(struct kx_slice value)
{
    enum kx_json_type type = kx_json_type(value);
    return type == KX_JSON_TRUE || type == KX_JSON_FALSE;
}

/* The node of a schema; NULL after an error. */
static const struct schema_node *compile_node(struct schema_compiler *compiler,
                                              struct kx_slice value,
                                              const char *keyword)
{
    struct schema_node *node = *node_slot(compiler, value.data);
    if (node != NULL)
        return node;
    node = new_node(compiler, value, keyword);
    if (node == NULL || is_boolean(value))
        return node;
    expect(compiler, value, KX_JSON_OBJECT,
           "a schema is an object, true or false");
    return is_well(compiler) && compile_members(compiler, node, value) ? node
                                                                       : NULL;
}

/* Compiles the value of a keyword, if it is there. */
static void compile_one(struct schema_compiler *compiler,
                        const struct schema_draft *draft,
                        enum schema_keyword keyword,
                        const struct schema_node **node_out)
{
    if (has(draft, keyword))
        *node_out = compile_node(compiler, draft->given[keyword],
                                 keyword_names[keyword]);
}

/* Compiles the schemas of an array. */
static void compile_list(struct schema_compiler *compiler,
                         const struct schema_draft *draft,
                         enum schema_keyword keyword,
                         const struct schema_node **nodes)
{
    struct kx_slice list = draft->given[keyword];
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    if (list.size == 0 || !iterate(compiler, list, KX_JSON_ARRAY,
                                   "an array of schemas is expected", &iter))
        return;
    if (count_children(list) == 0)
        refuse(compiler, list.data, "%s has at least one schema",
               keyword_names[keyword]);
    while (is_well(compiler) && kx_json_next(&iter, &name, &value))
        *nodes++ = compile_node(compiler, value, keyword_names[keyword]);
}

/* ---- Values of any type ------------------------------------------------- */

/* Says whether a token is one of the names of types, and which. */
static bool find_type(struct kx_slice token, uint8_t *types_out)
{
    static const struct {
        const char *name;
        uint8_t types;
    } rows[] = {{"\"null\"", 1 << KX_JSON_NULL},
                {"\"boolean\"", 1 << KX_JSON_FALSE | 1 << KX_JSON_TRUE},
                {"\"number\"", 1 << KX_JSON_NUMBER},
                {"\"integer\"", 0},
                {"\"string\"", 1 << KX_JSON_STRING},
                {"\"array\"", 1 << KX_JSON_ARRAY},
                {"\"object\"", 1 << KX_JSON_OBJECT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (json_string_equal(token, kx_text(rows[i].name))) {
            *types_out = rows[i].types;
            return true;
        }
    return false;
}

static void add_type(struct schema_compiler *compiler, struct schema_node *node,
                     struct kx_slice token)
{
    uint8_t types = 0;
    if (kx_json_type(token) != KX_JSON_STRING || !find_type(token, &types))
        refuse(compiler, token.data,
               "a type is null, boolean, number, integer, string, array or "
               "object");
    node->types |= types;
    node->integers_only |= types == 0;
}

static void add_types(struct schema_compiler *compiler,
                      struct schema_node *node, struct kx_slice list)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice token;
    if (kx_json_iterate(list, &iter))
        while (is_well(compiler) && kx_json_next(&iter, &name, &token))
            add_type(compiler, node, token);
}

/* `type` is a name or an array of names. Numbers include the integers. */
static bool compile_types(struct schema_compiler *compiler,
                          const struct schema_draft *draft)
{
    struct kx_slice value = draft->given[KEYWORD_TYPE];
    struct schema_node *node = draft->node;
    if (value.size == 0)
        return true;
    node->types = 0;
    if (kx_json_type(value) == KX_JSON_ARRAY)
        add_types(compiler, node, value);
    else
        add_type(compiler, node, value);
    if ((node->types & 1 << KX_JSON_NUMBER) != 0)
        node->integers_only = false;
    if (node->integers_only)
        node->types |= 1 << KX_JSON_NUMBER;
    return is_well(compiler);
}

static bool add_value(struct schema_compiler *compiler,
                      struct schema_values *values, struct kx_slice value)
{
    values->items[values->count++] = value;
    values->escaped |= schema_is_escaped(value);
    return json_depth(value) <= KX_JSON_DEPTH_MAX ||
           refuse(compiler, value.data,
                  "a value has at most %d arrays and objects inside each "
                  "other",
                  (int)KX_JSON_DEPTH_MAX);
}

static struct schema_values *take_values(struct schema_compiler *compiler,
                                         enum schema_keyword keyword,
                                         size_t count)
{
    struct schema_values *values = take(compiler, 1, sizeof *values);
    if (values == NULL)
        return NULL;
    values->keyword = keyword_names[keyword];
    values->items = take(compiler, count, sizeof *values->items);
    return values->items != NULL ? values : NULL;
}

static bool compile_enum(struct schema_compiler *compiler,
                         const struct schema_draft *draft)
{
    struct kx_slice list = draft->given[KEYWORD_ENUM];
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    if (list.size == 0)
        return true;
    if (!iterate(compiler, list, KX_JSON_ARRAY, "enum is an array of values",
                 &iter))
        return false;
    struct schema_values *values =
        take_values(compiler, KEYWORD_ENUM, count_children(list));
    if (values == NULL)
        return false;
    while (kx_json_next(&iter, &name, &value))
        if (!add_value(compiler, values, value))
            return false;
    draft->node->values = values;
    return true;
}

static bool compile_values(struct schema_compiler *compiler,
                           const struct schema_draft *draft)
{
    if (has(draft, KEYWORD_CONST)) {
        struct schema_values *values = take_values(compiler, KEYWORD_CONST, 1);
        if (values == NULL ||
            !add_value(compiler, values, draft->given[KEYWORD_CONST]))
            return false;
        draft->node->constant = values;
    }
    return compile_enum(compiler, draft);
}

/* ---- Numbers ------------------------------------------------------------ */

static void check_divisor(struct schema_compiler *compiler,
                          struct kx_slice divisor)
{
    if (json_number_compare(divisor, kx_text("0")) <= 0)
        refuse(compiler, divisor.data, "multipleOf is greater than 0");
    if (json_number_digits(divisor) > JSON_DIVISOR_DIGITS)
        refuse(compiler, divisor.data, "multipleOf has at most %d digits",
               (int)JSON_DIVISOR_DIGITS);
}

/* Adds a bound or the divisor, if it is there. */
static void add_bound(struct schema_compiler *compiler,
                      const struct schema_draft *draft, enum schema_number kind,
                      struct schema_numbers *numbers)
{
    struct kx_slice value = draft->given[KEYWORD_MINIMUM + kind];
    if (value.size == 0)
        return;
    if (kx_json_type(value) != KX_JSON_NUMBER)
        refuse(compiler, value.data, "%s is a number",
               keyword_names[KEYWORD_MINIMUM + kind]);
    else if (kind == SCHEMA_DIVISOR)
        check_divisor(compiler, value);
    numbers->bounds[numbers->count++] =
        (struct schema_bound){.number = json_decimal_read(value), .kind = kind};
}

static bool compile_numbers(struct schema_compiler *compiler,
                            const struct schema_draft *draft)
{
    if (!has_any(draft, KEYWORD_MINIMUM, KEYWORD_MULTIPLE_OF))
        return true;
    struct schema_numbers *numbers = take(compiler, 1, sizeof *numbers);
    if (numbers == NULL)
        return false;
    draft->node->numbers = numbers;
    for (int kind = 0; kind <= SCHEMA_DIVISOR; kind++)
        add_bound(compiler, draft, (enum schema_number)kind, numbers);
    return is_well(compiler);
}

/* ---- Strings ------------------------------------------------------------ */

/* Compiles a pattern (a string token). NULL after an error. */
static const struct pattern *take_pattern(struct schema_compiler *compiler,
                                          struct kx_slice token)
{
    struct pattern *pattern;
    struct kx_fault fault;
    if (!expect(compiler, token, KX_JSON_STRING, "a pattern is a string"))
        return NULL;
    enum kx_status status =
        pattern_compile(token, compiler->schema, &pattern, &fault);
    if (status == KX_NO_MEMORY)
        out_of_memory(compiler);
    else if (status != KX_OK)
        refuse(compiler, token.data, "%s", fault.detail);
    if (status != KX_OK)
        return NULL;
    compiler->positions += pattern->positions;
    if (compiler->positions > JSON_SCHEMA_POSITIONS_MAX) {
        refuse(compiler, token.data,
               "the patterns of the schema have more than %d characters with "
               "their repeats written out",
               (int)JSON_SCHEMA_POSITIONS_MAX);
        return NULL;
    }
    return pattern;
}

static bool compile_string(struct schema_compiler *compiler,
                           const struct schema_draft *draft)
{
    if (!has_any(draft, KEYWORD_MIN_LENGTH, KEYWORD_PATTERN))
        return true;
    struct schema_string *string = take(compiler, 1, sizeof *string);
    if (string == NULL)
        return false;
    draft->node->string = string;
    string->length.max = UINT64_MAX;
    string->pattern_token = draft->given[KEYWORD_PATTERN];
    take_count(compiler, draft, KEYWORD_MIN_LENGTH, &string->length.min);
    take_count(compiler, draft, KEYWORD_MAX_LENGTH, &string->length.max);
    if (has(draft, KEYWORD_PATTERN))
        string->pattern = take_pattern(compiler, string->pattern_token);
    return is_well(compiler);
}

/* ---- Arrays ------------------------------------------------------------- */

static void take_unique(struct schema_compiler *compiler,
                        const struct schema_draft *draft, bool *unique_out)
{
    struct kx_slice value = draft->given[KEYWORD_UNIQUE_ITEMS];
    if (value.size == 0)
        return;
    *unique_out = kx_json_type(value) == KX_JSON_TRUE;
    if (!is_boolean(value))
        refuse(compiler, value.data, "uniqueItems is true or false");
}

static bool compile_array(struct schema_compiler *compiler,
                          const struct schema_draft *draft)
{
    if (!has_any(draft, KEYWORD_PREFIX_ITEMS, KEYWORD_UNIQUE_ITEMS))
        return true;
    struct schema_array *array = take(compiler, 1, sizeof *array);
    if (array == NULL)
        return false;
    draft->node->array = array;
    array->prefix_count = count_children(draft->given[KEYWORD_PREFIX_ITEMS]);
    array->prefix = take(compiler, array->prefix_count, sizeof *array->prefix);
    array->contained = (struct schema_limits){.min = 1, .max = UINT64_MAX};
    array->count.max = UINT64_MAX;
    compile_list(compiler, draft, KEYWORD_PREFIX_ITEMS, array->prefix);
    compile_one(compiler, draft, KEYWORD_ITEMS, &array->items);
    compile_one(compiler, draft, KEYWORD_CONTAINS, &array->contains);
    take_count(compiler, draft, KEYWORD_MIN_CONTAINS, &array->contained.min);
    take_count(compiler, draft, KEYWORD_MAX_CONTAINS, &array->contained.max);
    take_count(compiler, draft, KEYWORD_MIN_ITEMS, &array->count.min);
    take_count(compiler, draft, KEYWORD_MAX_ITEMS, &array->count.max);
    take_unique(compiler, draft, &array->unique);
    return is_well(compiler);
}

/* ---- Objects ------------------------------------------------------------ */

/* Finds the row of a name, or makes it. NULL without memory. */
static struct schema_name *name_row(struct schema_compiler *compiler,
                                    struct schema_object *object,
                                    struct kx_slice token)
{
    uint64_t hash;
    struct kx_slice text = compiler->schema->text;
    bool escaped = schema_is_escaped(token);
    if (!schema_hash(token, escaped, text.data + text.size, &hash)) {
        out_of_memory(compiler);
        return NULL;
    }
    size_t at = hash >> 32 & object->mask;
    while (object->names[at].token.size > 0 &&
           !json_string_equal(object->names[at].token, token))
        at = (at + 1) & object->mask;
    object->names[at].hash = hash;
    object->names[at].token = token;
    object->names[at].escaped = escaped;
    return &object->names[at];
}

static void add_properties(struct schema_compiler *compiler,
                           struct schema_object *object, struct kx_slice value)
{
    struct kx_json_iter iter;
    struct kx_slice token;
    struct kx_slice child;
    if (value.size == 0 ||
        !iterate(compiler, value, KX_JSON_OBJECT,
                 "properties is an object of schemas", &iter))
        return;
    while (is_well(compiler) && kx_json_next(&iter, &token, &child)) {
        struct schema_name *row = name_row(compiler, object, token);
        if (row != NULL)
            row->node = compile_node(compiler, child,
                                     keyword_names[KEYWORD_PROPERTIES]);
    }
}

static void require(struct schema_compiler *compiler,
                    struct schema_object *object, struct kx_slice token)
{
    if (!expect(compiler, token, KX_JSON_STRING, "a name is a string"))
        return;
    struct schema_name *row = name_row(compiler, object, token);
    if (row == NULL)
        return;
    if (row->required)
        refuse(compiler, token.data, "the name is listed twice");
    row->required = true;
    object->required_count++;
}

static void add_required(struct schema_compiler *compiler,
                         struct schema_object *object, struct kx_slice value)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice token;
    if (value.size == 0 || !iterate(compiler, value, KX_JSON_ARRAY,
                                    "required is an array of names", &iter))
        return;
    while (is_well(compiler) && kx_json_next(&iter, &name, &token))
        require(compiler, object, token);
}

static void add_names(struct schema_compiler *compiler,
                      const struct schema_draft *draft,
                      struct schema_object *object)
{
    struct kx_slice properties = draft->given[KEYWORD_PROPERTIES];
    struct kx_slice required = draft->given[KEYWORD_REQUIRED];
    size_t slots = 4;
    while (slots < 2 * (count_children(properties) + count_children(required)))
        slots *= 2;
    object->names = take(compiler, slots, sizeof *object->names);
    object->mask = slots - 1;
    if (object->names == NULL)
        return;
    add_properties(compiler, object, properties);
    add_required(compiler, object, required);
}

static void add_patterns(struct schema_compiler *compiler,
                         const struct schema_draft *draft,
                         struct schema_object *object)
{
    struct kx_slice value = draft->given[KEYWORD_PATTERN_PROPERTIES];
    struct kx_json_iter iter;
    struct kx_slice token;
    struct kx_slice child;
    if (value.size == 0 ||
        !iterate(compiler, value, KX_JSON_OBJECT,
                 "patternProperties is an object of schemas", &iter))
        return;
    object->patterns =
        take(compiler, count_children(value), sizeof *object->patterns);
    while (is_well(compiler) && kx_json_next(&iter, &token, &child)) {
        struct schema_pattern *row = &object->patterns[object->pattern_count++];
        row->pattern = take_pattern(compiler, token);
        row->node = compile_node(compiler, child,
                                 keyword_names[KEYWORD_PATTERN_PROPERTIES]);
    }
}

/* Checks that a list has names. */
static void check_list(struct schema_compiler *compiler, struct kx_slice list)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice token;
    if (!iterate(compiler, list, KX_JSON_ARRAY,
                 "dependentRequired has arrays of names", &iter))
        return;
    while (is_well(compiler) && kx_json_next(&iter, &name, &token))
        expect(compiler, token, KX_JSON_STRING, "a name is a string");
}

/* Adds the rows of dependentRequired or dependentSchemas. */
static void add_dependents(struct schema_compiler *compiler,
                           const struct schema_draft *draft,
                           enum schema_keyword keyword,
                           struct schema_object *object)
{
    struct kx_json_iter iter;
    struct kx_slice token;
    struct kx_slice child;
    if (!has(draft, keyword) ||
        !iterate(compiler, draft->given[keyword], KX_JSON_OBJECT,
                 "an object with the names of members is expected", &iter))
        return;
    while (is_well(compiler) && kx_json_next(&iter, &token, &child)) {
        struct schema_dependent *row =
            &object->dependents[object->dependent_count++];
        row->token = token;
        if (keyword == KEYWORD_DEPENDENT_REQUIRED) {
            row->required = child;
            check_list(compiler, child);
        } else {
            row->node = compile_node(compiler, child, keyword_names[keyword]);
        }
    }
}

static bool compile_object(struct schema_compiler *compiler,
                           const struct schema_draft *draft)
{
    if (!has_any(draft, KEYWORD_PROPERTIES, KEYWORD_DEPENDENT_SCHEMAS))
        return true;
    struct schema_object *object = take(compiler, 1, sizeof *object);
    if (object == NULL)
        return false;
    draft->node->object = object;
    object->count.max = UINT64_MAX;
    object->dependents =
        take(compiler,
             count_children(draft->given[KEYWORD_DEPENDENT_REQUIRED]) +
                 count_children(draft->given[KEYWORD_DEPENDENT_SCHEMAS]),
             sizeof *object->dependents);
    add_names(compiler, draft, object);
    add_patterns(compiler, draft, object);
    compile_one(compiler, draft, KEYWORD_ADDITIONAL_PROPERTIES,
                &object->additional);
    compile_one(compiler, draft, KEYWORD_PROPERTY_NAMES,
                &object->property_names);
    take_count(compiler, draft, KEYWORD_MIN_PROPERTIES, &object->count.min);
    take_count(compiler, draft, KEYWORD_MAX_PROPERTIES, &object->count.max);
    add_dependents(compiler, draft, KEYWORD_DEPENDENT_REQUIRED, object);
    add_dependents(compiler, draft, KEYWORD_DEPENDENT_SCHEMAS, object);
    return is_well(compiler);
}

/* ---- Schemas for the same value ----------------------------------------- */

static void add_reference(struct schema_compiler *compiler,
                          const struct schema_draft *draft,
                          const struct schema_node **slot)
{
    struct kx_slice token = draft->given[KEYWORD_REF];
    if (token.size == 0)
        return;
    expect(compiler, token, KX_JSON_STRING, "$ref is a string");
    compiler->references[compiler->reference_count++] =
        (struct schema_reference){.token = token, .slot = slot};
}

/* The keyword of each way, and where its value is a list. */
static const enum schema_keyword way_keywords[SCHEMA_WAYS] = {
    [SCHEMA_ALL] = KEYWORD_ALL_OF, [SCHEMA_ANY] = KEYWORD_ANY_OF,
    [SCHEMA_ONE] = KEYWORD_ONE_OF, [SCHEMA_NOT] = KEYWORD_NOT,
    [SCHEMA_IF] = KEYWORD_IF,      [SCHEMA_THEN] = KEYWORD_THEN,
    [SCHEMA_ELSE] = KEYWORD_ELSE};

/* Counts the schemas of each way. A reference is the first of SCHEMA_ALL. */
static void count_inner(const struct schema_draft *draft,
                        struct schema_inner *inner)
{
    size_t count = has(draft, KEYWORD_REF);
    for (size_t way = 0; way < SCHEMA_WAYS; way++) {
        inner->begin[way] = way == SCHEMA_ALL ? 0 : count;
        count += way < SCHEMA_NOT
                     ? count_children(draft->given[way_keywords[way]])
                     : has(draft, way_keywords[way]);
    }
    inner->begin[SCHEMA_WAYS] = count;
}

/* Compiles the schemas of all ways. */
static void add_inner(struct schema_compiler *compiler,
                      const struct schema_draft *draft,
                      const struct schema_inner *inner)
{
    add_reference(compiler, draft, inner->nodes);
    compile_list(compiler, draft, KEYWORD_ALL_OF,
                 inner->nodes + has(draft, KEYWORD_REF));
    for (size_t way = SCHEMA_ANY; way < SCHEMA_WAYS; way++) {
        const struct schema_node **nodes = inner->nodes + inner->begin[way];
        if (way < SCHEMA_NOT)
            compile_list(compiler, draft, way_keywords[way], nodes);
        else
            compile_one(compiler, draft, way_keywords[way], nodes);
    }
}

static bool compile_inner(struct schema_compiler *compiler,
                          const struct schema_draft *draft)
{
    if (!has(draft, KEYWORD_REF) &&
        !has_any(draft, KEYWORD_ALL_OF, KEYWORD_ELSE))
        return true;
    struct schema_inner *inner = take(compiler, 1, sizeof *inner);
    if (inner == NULL)
        return false;
    count_inner(draft, inner);
    inner->nodes =
        take(compiler, inner->begin[SCHEMA_WAYS], sizeof *inner->nodes);
    draft->node->inner = inner;
    if (inner->nodes != NULL)
        add_inner(compiler, draft, inner);
    return is_well(compiler);
}

static void add_definitions(struct schema_compiler *compiler,
                            const struct schema_draft *draft,
                            enum schema_keyword keyword)
{
    struct kx_json_iter iter;
    struct kx_slice token;
    struct kx_slice child;
    if (!has(draft, keyword) ||
        !iterate(compiler, draft->given[keyword], KX_JSON_OBJECT,
                 "definitions are an object of schemas", &iter))
        return;
    while (is_well(compiler) && kx_json_next(&iter, &token, &child))
        compile_node(compiler, child, keyword_names[KEYWORD_REF]);
}

/* Compiles definitions, also those that nothing refers to. */
static bool compile_definitions(struct schema_compiler *compiler,
                                const struct schema_draft *draft)
{
    add_definitions(compiler, draft, KEYWORD_DEFS);
    add_definitions(compiler, draft, KEYWORD_DEFINITIONS);
    return is_well(compiler);
}

/* ---- Identifiers -------------------------------------------------------- */

static bool is_letter(uint8_t byte)
{
    return (uint8_t)((byte | 0x20) - 'a') < 26 || byte == '_';
}

/* True for a byte of an anchor after the first. */
static bool is_anchor_byte(uint8_t byte)
{
    return is_letter(byte) || json_is_digit(byte) || byte == '-' || byte == '.';
}

static bool is_anchor(struct kx_slice token)
{
    struct kx_slice body = json_string_body(token);
    for (size_t i = 1; i < body.size; i++)
        if (!is_anchor_byte(body.data[i]))
            return false;
    return body.size > 0 && is_letter(body.data[0]);
}

static bool add_anchor(struct schema_compiler *compiler, struct kx_slice token,
                       const uint8_t *schema)
{
    if (kx_json_type(token) != KX_JSON_STRING || !is_anchor(token))
        return refuse(compiler, token.data,
                      "an anchor has letters, digits, '-', '_' and '.'");
    for (size_t i = 0; i < compiler->anchor_count; i++)
        if (kx_equal(compiler->anchors[i].token, token))
            return refuse(compiler, token.data, "the anchor is defined twice");
    const uint8_t *end =
        compiler->schema->text.data + compiler->schema->text.size;
    compiler->anchors[compiler->anchor_count++] = (struct schema_anchor){
        .token = token,
        .schema =
            kx_slice(schema, (size_t)(json_skip_value(schema, end) - schema))};
    return true;
}

static bool check_dialect(struct schema_compiler *compiler,
                          struct kx_slice token)
{
    static const char dialect[] = "//json-schema.org/draft/2020-12/schema";
    struct kx_slice body = json_string_body(token);
    const uint8_t *slashes = memchr(body.data, '/', body.size);
    if (kx_json_type(token) == KX_JSON_STRING && slashes != NULL) {
        struct kx_slice rest =
            kx_slice(slashes, body.size - (size_t)(slashes - body.data));
        if (rest.size > 0 && rest.data[rest.size - 1] == '#')
            rest.size--;
        if (kx_equal(rest, kx_text(dialect)))
            return true;
    }
    return refuse(compiler, token.data, "$schema is that of 2020-12");
}

static void take_id(struct schema_compiler *compiler, struct kx_slice id,
                    const uint8_t *schema)
{
    expect(compiler, id, KX_JSON_STRING, "$id is a string");
    if (schema != compiler->root.data)
        refuse(compiler, id.data,
               "only the whole schema has an $id; use $anchor instead");
    compiler->id = id;
}

static bool compile_identifiers(struct schema_compiler *compiler,
                                const struct schema_draft *draft)
{
    const uint8_t *at = draft->node->at;
    if (has(draft, KEYWORD_SCHEMA))
        check_dialect(compiler, draft->given[KEYWORD_SCHEMA]);
    if (has(draft, KEYWORD_ID))
        take_id(compiler, draft->given[KEYWORD_ID], at);
    if (has(draft, KEYWORD_ANCHOR))
        add_anchor(compiler, draft->given[KEYWORD_ANCHOR], at);
    return is_well(compiler);
}

/* ---- Members of a schema ------------------------------------------------ */

static bool is_one_of(struct kx_slice body, const char *const *names,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (kx_equal(body, kx_text(names[i])))
            return true;
    return false;
}

/* Says why there is no such keyword. Always false. */
static bool refuse_keyword(struct schema_compiler *compiler,
                           struct kx_slice token)
{
    struct kx_slice body = json_string_body(token);
    const char *nearest = "";
    size_t best = KX_NEAR + 1;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (kx_equal(body, kx_text(refused[i].name)))
            return refuse(compiler, token.data, "%s is not supported: %s",
                          refused[i].name, refused[i].reason);
    for (size_t i = 0; i < KEYWORD_COUNT; i++)
        if (kx_resembles(body, kx_text(keyword_names[i]), &best))
            nearest = keyword_names[i];
    refuse(compiler, token.data,
           "there is no keyword %.*s (names of your own begin with x-)",
           kx_excerpt_size(token), (const char *)token.data);
    if (compiler->fault != NULL)
        snprintf(compiler->fault->suggestion,
                 sizeof compiler->fault->suggestion, "%s", nearest);
    return false;
}

static bool give(struct schema_compiler *compiler, struct schema_draft *draft,
                 struct kx_slice token, struct kx_slice value)
{
    struct kx_slice body = json_string_body(token);
    for (size_t i = 0; i < KEYWORD_COUNT; i++)
        if (kx_equal(body, kx_text(keyword_names[i]))) {
            draft->given[i] = value;
            return true;
        }
    return kx_starts_with(body, kx_text("x-")) ||
           is_one_of(body, annotations,
                     sizeof annotations / sizeof *annotations) ||
           refuse_keyword(compiler, token);
}

static bool read_members(struct schema_compiler *compiler,
                         struct schema_draft *draft, struct kx_slice value)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice child;
    if (!kx_json_iterate(value, &iter))
        return false;
    while (kx_json_next(&iter, &name, &child))
        if (!give(compiler, draft, name, child))
            return false;
    return true;
}

static bool compile_members(struct schema_compiler *compiler,
                            struct schema_node *node, struct kx_slice value)
{
    static bool (*const groups[])(struct schema_compiler *,
                                  const struct schema_draft *) = {
        compile_identifiers, compile_types,  compile_values,
        compile_numbers,     compile_string, compile_array,
        compile_object,      compile_inner,  compile_definitions};
    struct schema_draft *draft = take_scratch(compiler, 1, sizeof *draft);
    if (draft == NULL)
        return false;
    draft->node = node;
    bool done = read_members(compiler, draft, value);
    for (size_t i = 0; done && i < sizeof groups / sizeof *groups; i++)
        done = groups[i](compiler, draft);
    node->plain =
        node->values == NULL && node->constant == NULL && node->inner == NULL;
    talloc_free(draft);
    return done;
}

/* ---- References --------------------------------------------------------- */

/* Decodes the fragment of a reference, from its '#' on: %7E becomes ~. */
static bool decode(struct kx_slice fragment, struct kx_buffer *out)
{
    for (size_t i = 1; i < fragment.size; i++) {
        uint8_t byte = fragment.data[i];
        if (byte == '%') {
            if (fragment.size - i < 3 ||
                !kx_hex_read(kx_slice(fragment.data + i + 1, 2), out))
                return false;
            i += 2;
            continue;
        }
        kx_add_byte(out, byte);
    }
    return true;
}

static bool find_anchor(const struct schema_compiler *compiler,
                        struct kx_slice name, struct kx_slice *schema_out)
{
    for (size_t i = 0; i < compiler->anchor_count; i++)
        if (kx_equal(json_string_body(compiler->anchors[i].token), name)) {
            *schema_out = compiler->anchors[i].schema;
            return true;
        }
    return false;
}

/* Finds the schema that a fragment names. */
static bool find_target(const struct schema_compiler *compiler,
                        struct kx_slice fragment, struct kx_slice *schema_out)
{
    *schema_out = compiler->root;
    if (fragment.size == 0)
        return true;
    if (fragment.data[0] != '/')
        return find_anchor(compiler, fragment, schema_out);
    return kx_pointer_valid(fragment) &&
           kx_json_find(compiler->root, fragment, schema_out);
}

/* Removes the $id of the document from the beginning of a reference. */
static struct kx_slice without_id(const struct schema_compiler *compiler,
                                  struct kx_slice reference)
{
    struct kx_slice id = compiler->id;
    if (id.size < 3)
        return reference;
    id = json_string_body(id);
    id.size -= id.data[id.size - 1] == '#';
    if (!kx_starts_with(reference, id))
        return reference;
    struct kx_slice rest =
        kx_slice(reference.data + id.size, reference.size - id.size);
    return rest.size == 0 || rest.data[0] == '#' ? rest : reference;
}

/* Finds the schema that the reference leads to. `text` and `fragment` are
 * scratch. */
static bool find_referred(struct schema_compiler *compiler,
                          struct kx_slice token, struct kx_buffer *text,
                          struct kx_buffer *fragment,
                          struct kx_slice *schema_out)
{
    kx_json_unescape(token, text);
    struct kx_slice rest = without_id(compiler, kx_buffer_slice(text));
    if (rest.size > 0 && rest.data[0] != '#')
        return refuse(compiler, token.data,
                      "$ref leads to a place in the same schema: #, "
                      "#/pointer or #anchor");
    bool found = decode(rest, fragment) &&
                 find_target(compiler, kx_buffer_slice(fragment), schema_out);
    if (text->failed || fragment->failed)
        return out_of_memory(compiler);
    return found ||
           refuse(compiler, token.data, "$ref leads to nothing in the schema");
}

static bool resolve(struct schema_compiler *compiler,
                    const struct schema_reference *reference)
{
    struct kx_slice target;
    struct kx_buffer text;
    struct kx_buffer fragment;
    kx_buffer_init(&text, compiler->memory);
    kx_buffer_init(&fragment, compiler->memory);
    bool found =
        find_referred(compiler, reference->token, &text, &fragment, &target);
    kx_buffer_free(&text);
    kx_buffer_free(&fragment);
    if (!found)
        return false;
    *reference->slot =
        compile_node(compiler, target, keyword_names[KEYWORD_REF]);
    if (*reference->slot == NULL)
        return false;
    (*node_slot(compiler, target.data))->shared = true;
    return true;
}

/* A schema that is compiled because of a reference may add references. */
static bool resolve_all(struct schema_compiler *compiler)
{
    for (size_t i = 0; i < compiler->reference_count; i++) {
        if (i == JSON_SCHEMA_REFERENCES_MAX)
            return refuse(compiler, compiler->references[i].token.data,
                          "the schema has more than %d references",
                          (int)JSON_SCHEMA_REFERENCES_MAX);
        if (!resolve(compiler, &compiler->references[i]))
            return false;
    }
    return true;
}

/* ---- Order -------------------------------------------------------------- */

/* The number of schemas, or of names that may have one, for the same value. */
static size_t applied_count(const struct schema_node *node)
{
    return (node->inner != NULL ? node->inner->begin[SCHEMA_WAYS] : 0) +
           (node->object != NULL ? node->object->dependent_count : 0);
}

/* The n-th node that a node applies to the same value; NULL if the n-th name
 * has none. */
static struct schema_node *applied(const struct schema_compiler *compiler,
                                   const struct schema_node *node, size_t n)
{
    size_t inner = node->inner != NULL ? node->inner->begin[SCHEMA_WAYS] : 0;
    const struct schema_node *other =
        n < inner ? node->inner->nodes[n]
                  : node->object->dependents[n - inner].node;
    return other != NULL ? *node_slot(compiler, other->at) : NULL;
}

/* Counts how many nodes apply each node, and appends to `ready` those that no
 * node applies. Returns their number. */
static size_t find_first(struct schema_compiler *compiler,
                         struct schema_node **ready)
{
    size_t count = 0;
    for (size_t i = 0; i <= compiler->mask; i++) {
        struct schema_node *node = compiler->nodes[i];
        for (size_t n = 0; node != NULL && n < applied_count(node); n++) {
            struct schema_node *other = applied(compiler, node, n);
            if (other != NULL)
                other->waiting++;
        }
    }
    for (size_t i = 0; i <= compiler->mask; i++)
        if (compiler->nodes[i] != NULL && compiler->nodes[i]->waiting == 0)
            ready[count++] = compiler->nodes[i];
    return count;
}

/* Appends to `ready` the nodes that only waited for this one. Returns the new
 * number. */
static size_t release(const struct schema_compiler *compiler,
                      const struct schema_node *node,
                      struct schema_node **ready, size_t count)
{
    for (size_t n = 0; n < applied_count(node); n++) {
        struct schema_node *other = applied(compiler, node, n);
        if (other == NULL)
            continue;
        if (other->chain <= node->chain)
            other->chain = node->chain + 1;
        if (--other->waiting == 0)
            ready[count++] = other;
    }
    return count;
}

static bool check_circles(struct schema_compiler *compiler)
{
    for (size_t i = 0; i <= compiler->mask; i++)
        if (compiler->nodes[i] != NULL && compiler->nodes[i]->waiting > 0)
            return refuse(compiler, compiler->nodes[i]->at,
                          "the schema applies itself to the same value, "
                          "without end");
    return true;
}

/* Puts the nodes that apply one another to the same value in order, and refuses
 * circles, which would never end, and long chains. */
static bool order(struct schema_compiler *compiler)
{
    struct schema_node **ready =
        take_scratch(compiler, compiler->mask + 1, sizeof *ready);
    if (ready == NULL)
        return false;
    size_t count = find_first(compiler, ready);
    for (size_t i = 0; i < count; i++) {
        if (ready[i]->chain > JSON_SCHEMA_CHAIN_MAX)
            return refuse(compiler, ready[i]->at,
                          "more than %d schemas apply one another to the same "
                          "value",
                          (int)JSON_SCHEMA_CHAIN_MAX);
        count = release(compiler, ready[i], ready, count);
    }
    return check_circles(compiler);
}

/* ---- The whole ---------------------------------------------------------- */

/* Makes the temporary memory. Each schema begins with a bracket, "true" or
 * "false", and all but the first after a colon, a comma or a bracket. */
static bool prepare(struct schema_compiler *compiler)
{
    struct kx_slice text = compiler->schema->text;
    size_t values = 1;
    size_t slots = 4;
    for (size_t i = 0; i < text.size; i++)
        values += strchr(":,[", text.data[i]) != NULL;
    while (slots < 2 * values)
        slots *= 2;
    compiler->mask = slots - 1;
    compiler->memory = take(compiler, 1, 1);
    if (compiler->memory == NULL)
        return false;
    compiler->nodes = take_scratch(compiler, slots, sizeof *compiler->nodes);
    compiler->references =
        take_scratch(compiler, values, sizeof *compiler->references);
    compiler->anchors =
        take_scratch(compiler, values, sizeof *compiler->anchors);
    return is_well(compiler);
}

static bool compile(struct schema_compiler *compiler)
{
    if (compiler->schema->text.size > JSON_SCHEMA_SIZE_MAX)
        return refuse(compiler, compiler->schema->text.data,
                      "a schema has at most %d bytes",
                      (int)JSON_SCHEMA_SIZE_MAX);
    if (!prepare(compiler) ||
        !kx_json_find(compiler->schema->text, kx_text(""), &compiler->root))
        return false;
    compiler->schema->root = compile_node(compiler, compiler->root, "");
    return compiler->schema->root != NULL && resolve_all(compiler) &&
           order(compiler);
}

enum kx_status json_schema_compile(struct kx_slice text, const void *owner,
                                   struct json_schema **schema_out,
                                   struct kx_fault *fault)
{
    struct json_schema *schema = talloc_zero(owner, struct json_schema);
    struct schema_compiler compiler = {.schema = schema, .fault = fault};
    if (schema == NULL || !kx_slice_copy(schema, text, &schema->text)) {
        talloc_free(schema);
        return kx_fail(fault, KX_NO_MEMORY, "memory ran out");
    }
    if (!compile(&compiler)) {
        talloc_free(schema);
        return compiler.status;
    }
    talloc_free(compiler.memory);
    *schema_out = schema;
    return KX_OK;
}
