/* Compiles a JSON Schema into nodes. Every member of a schema is a keyword of a
 * table; an unknown one is refused, because a typing error would otherwise
 * allow what it was meant to forbid. */
#include "rules/json_schema_node.h"

#include <stdarg.h>
#include <stdio.h>

#include <talloc.h>

#include "json/json_find.h"
#include "json/json_string.h"

/* The keywords that assert something, or that are only annotations. */
enum schema_keyword {
    KEYWORD_TYPE,
    KEYWORD_ENUM,
    KEYWORD_MINIMUM,
    KEYWORD_MAXIMUM,
    KEYWORD_PROPERTIES,
    KEYWORD_REQUIRED,
    KEYWORD_TITLE,
    KEYWORD_DESCRIPTION,
    KEYWORD_FORMAT,
    KEYWORD_COUNT
};

static const char *const keyword_names[KEYWORD_COUNT] = {
    [KEYWORD_TYPE] = "type",
    [KEYWORD_ENUM] = "enum",
    [KEYWORD_MINIMUM] = "minimum",
    [KEYWORD_MAXIMUM] = "maximum",
    [KEYWORD_PROPERTIES] = "properties",
    [KEYWORD_REQUIRED] = "required",
    [KEYWORD_TITLE] = "title",
    [KEYWORD_DESCRIPTION] = "description",
    [KEYWORD_FORMAT] = "format",
};

/* A schema that is being compiled. */
struct schema_compiler {
    struct json_schema *schema;
    struct kx_fault *fault;
    enum kx_status status; /* of the first error */
};

/* One subschema: its node, and the value of each keyword; size 0 without the
 * keyword. */
struct schema_draft {
    struct schema_node *node;
    struct kx_slice given[KEYWORD_COUNT];
};

/* ---- Errors and memory -------------------------------------------------- */

/* Notes that the value at `at` is wrong. Always false. */
static bool __attribute__((format(printf, 3, 4)))
refuse(struct schema_compiler *compiler, const uint8_t *at, const char *format,
       ...)
{
    char detail[KX_DETAIL_MAX];
    va_list list;
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

/* Returns zeroed memory of the schema; NULL if memory ran out. */
static void *take(struct schema_compiler *compiler, size_t count, size_t size)
{
    void *memory =
        talloc_zero_size(compiler->schema, (count > 0 ? count : 1) * size);
    if (memory == NULL)
        out_of_memory(compiler);
    return memory;
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
    if (kx_json_iterate(value, &iter))
        while (kx_json_next(&iter, &name, &child))
            count++;
    return count;
}

/* ---- Values of any type ------------------------------------------------- */

static bool add_type(struct schema_compiler *compiler, struct schema_node *node,
                     struct kx_slice token)
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
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (kx_json_type(token) != KX_JSON_STRING ||
            !json_string_equal(token, kx_text(rows[i].name)))
            continue;
        if (rows[i].types == 0)
            node->integers_only = true;
        node->types |= rows[i].types;
        return true;
    }
    return refuse(compiler, token.data,
                  "a type is null, boolean, number, integer, string, array or "
                  "object");
}

/* `type` is a name or an array of names. Numbers include the integers. */
static bool compile_types(struct schema_compiler *compiler,
                          struct schema_draft *draft)
{
    struct kx_slice value = draft->given[KEYWORD_TYPE];
    struct schema_node *node = draft->node;
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice token = value;
    if (value.size == 0)
        return true;
    node->types = 0;
    if (kx_json_type(value) != KX_JSON_ARRAY) {
        if (!add_type(compiler, node, value))
            return false;
    } else if (kx_json_iterate(value, &iter)) {
        while (kx_json_next(&iter, &name, &token))
            if (!add_type(compiler, node, token))
                return false;
    }
    if ((node->types & 1 << KX_JSON_NUMBER) != 0)
        node->integers_only = false;
    if (node->integers_only)
        node->types |= 1 << KX_JSON_NUMBER;
    return true;
}

static bool compile_values(struct schema_compiler *compiler,
                           struct schema_draft *draft)
{
    struct kx_slice value = draft->given[KEYWORD_ENUM];
    struct kx_json_iter iter;
    struct kx_slice name;
    if (value.size == 0)
        return true;
    if (!expect(compiler, value, KX_JSON_ARRAY, "enum is an array of values"))
        return false;
    struct schema_values *values = take(compiler, 1, sizeof *values);
    size_t count = count_children(value);
    struct kx_slice *items = take(compiler, count, sizeof *items);
    if (values == NULL || items == NULL || !kx_json_iterate(value, &iter))
        return false;
    for (size_t i = 0; kx_json_next(&iter, &name, &items[i]);)
        if (++i == count)
            break;
    *values = (struct schema_values){.items = items, .count = count};
    draft->node->values = values;
    return true;
}

static bool take_number(struct schema_compiler *compiler,
                        struct schema_draft *draft, enum schema_keyword keyword,
                        struct kx_slice *out)
{
    struct kx_slice value = draft->given[keyword];
    *out = value;
    return value.size == 0 || kx_json_type(value) == KX_JSON_NUMBER ||
           refuse(compiler, value.data, "%s is a number",
                  keyword_names[keyword]);
}

static bool compile_numbers(struct schema_compiler *compiler,
                            struct schema_draft *draft)
{
    struct schema_numbers found;
    if (!take_number(compiler, draft, KEYWORD_MINIMUM, &found.minimum) ||
        !take_number(compiler, draft, KEYWORD_MAXIMUM, &found.maximum))
        return false;
    if (found.minimum.size == 0 && found.maximum.size == 0)
        return true;
    struct schema_numbers *numbers = take(compiler, 1, sizeof *numbers);
    if (numbers == NULL)
        return false;
    *numbers = found;
    draft->node->numbers = numbers;
    return true;
}

/* ---- Objects ------------------------------------------------------------ */

static struct schema_node *compile_node(struct schema_compiler *compiler,
                                        struct kx_slice value,
                                        const char *keyword);

static bool hash_name(struct schema_compiler *compiler, struct kx_slice token,
                      uint64_t *hash_out)
{
    struct kx_slice text = compiler->schema->text;
    if (memchr(token.data, '\\', token.size) != NULL)
        return json_name_hash_escaped(token, hash_out) ||
               out_of_memory(compiler);
    *hash_out = json_name_hash(token.data + 1, token.data + token.size - 1,
                               text.data + text.size);
    return true;
}

/* Finds the row of a name, or makes it. NULL without memory. */
static struct schema_name *name_row(struct schema_compiler *compiler,
                                    struct schema_object *object,
                                    struct kx_slice token)
{
    uint64_t hash;
    if (!hash_name(compiler, token, &hash))
        return NULL;
    size_t at = hash >> 32 & object->mask;
    while (object->names[at].token.size > 0 &&
           !json_string_equal(object->names[at].token, token))
        at = (at + 1) & object->mask;
    object->names[at].hash = hash;
    object->names[at].token = token;
    return &object->names[at];
}

static bool add_properties(struct schema_compiler *compiler,
                           struct schema_object *object, struct kx_slice value)
{
    struct kx_json_iter iter;
    struct kx_slice token;
    struct kx_slice child;
    if (value.size == 0)
        return true;
    if (!expect(compiler, value, KX_JSON_OBJECT,
                "properties is an object of schemas") ||
        !kx_json_iterate(value, &iter))
        return false;
    while (kx_json_next(&iter, &token, &child)) {
        struct schema_name *row = name_row(compiler, object, token);
        if (row == NULL)
            return false;
        row->node =
            compile_node(compiler, child, keyword_names[KEYWORD_PROPERTIES]);
        if (row->node == NULL)
            return false;
    }
    return true;
}

static bool add_required(struct schema_compiler *compiler,
                         struct schema_object *object, struct kx_slice value)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice token;
    if (value.size == 0)
        return true;
    if (!expect(compiler, value, KX_JSON_ARRAY,
                "required is an array of names") ||
        !kx_json_iterate(value, &iter))
        return false;
    while (kx_json_next(&iter, &name, &token)) {
        if (!expect(compiler, token, KX_JSON_STRING, "a name is a string"))
            return false;
        struct schema_name *row = name_row(compiler, object, token);
        if (row == NULL)
            return false;
        if (row->required)
            return refuse(compiler, token.data, "the name is listed twice");
        row->required = true;
        object->required_count++;
    }
    return true;
}

static bool compile_object(struct schema_compiler *compiler,
                           struct schema_draft *draft)
{
    struct kx_slice properties = draft->given[KEYWORD_PROPERTIES];
    struct kx_slice required = draft->given[KEYWORD_REQUIRED];
    if (properties.size == 0 && required.size == 0)
        return true;
    size_t slots = 4;
    while (slots < 2 * (count_children(properties) + count_children(required)))
        slots *= 2;
    struct schema_object *object = take(compiler, 1, sizeof *object);
    if (object == NULL)
        return false;
    object->names = take(compiler, slots, sizeof *object->names);
    object->mask = slots - 1;
    if (object->names == NULL)
        return false;
    draft->node->object = object;
    return add_properties(compiler, object, properties) &&
           add_required(compiler, object, required);
}

/* ---- Schemas ------------------------------------------------------------ */

static bool give(struct schema_compiler *compiler, struct schema_draft *draft,
                 struct kx_slice token, struct kx_slice value)
{
    struct kx_slice body = json_string_body(token);
    const char *nearest = NULL;
    size_t best = KX_NEAR + 1;
    for (size_t i = 0; i < KEYWORD_COUNT; i++) {
        if (kx_equal(body, kx_text(keyword_names[i]))) {
            draft->given[i] = value;
            return true;
        }
        if (kx_resembles(body, kx_text(keyword_names[i]), &best))
            nearest = keyword_names[i];
    }
    refuse(compiler, token.data, "there is no keyword %.*s",
           kx_excerpt_size(token), (const char *)token.data);
    if (nearest != NULL && compiler->fault != NULL)
        snprintf(compiler->fault->suggestion,
                 sizeof compiler->fault->suggestion, "%s", nearest);
    return false;
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

static struct schema_node *compile_members(struct schema_compiler *compiler,
                                           struct schema_node *node,
                                           struct kx_slice value)
{
    struct schema_draft *draft =
        talloc_zero(compiler->schema, struct schema_draft);
    if (draft == NULL) {
        out_of_memory(compiler);
        return NULL;
    }
    draft->node = node;
    bool done =
        read_members(compiler, draft, value) &&
        compile_types(compiler, draft) && compile_values(compiler, draft) &&
        compile_numbers(compiler, draft) && compile_object(compiler, draft);
    talloc_free(draft);
    return done ? node : NULL;
}

/* NULL after an error. */
static struct schema_node *compile_node(struct schema_compiler *compiler,
                                        struct kx_slice value,
                                        const char *keyword)
{
    enum kx_json_type type = kx_json_type(value);
    struct schema_node *node = take(compiler, 1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->keyword = keyword;
    node->types = type == KX_JSON_FALSE ? 0 : SCHEMA_ANY_TYPE;
    if (type == KX_JSON_TRUE || type == KX_JSON_FALSE)
        return node;
    if (!expect(compiler, value, KX_JSON_OBJECT,
                "a schema is an object, true or false"))
        return NULL;
    return compile_members(compiler, node, value);
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
    struct kx_slice root;
    if (kx_json_find(schema->text, kx_text(""), &root))
        schema->root = compile_node(&compiler, root, "");
    if (schema->root == NULL) {
        talloc_free(schema);
        return compiler.status;
    }
    *schema_out = schema;
    return KX_OK;
}
