/* Reading index declarations. Each member has a row in a table: its name and
 * the function that reads its value. Whatever is not in the table is an error,
 * so that a misspelt member is never ignored. The result is written out again
 * in one canonical form, with members in a fixed order and defaults filled in,
 * and two declarations are the same when these texts are. */
#include "declaration.h"

#include <stdarg.h>
#include <stdio.h>
#include <talloc.h>

/* A declaration on its way. */
struct reading {
    bool has_prefix; /* also when it is empty */
    struct declaration *declaration;
    struct kx_fault *fault;
    char pointer[64]; /* of the member being read */
};

/* Reads the raw value of one member; says in the fault what is wrong with it.
 */
typedef enum kx_status member_fn(struct reading *reading,
                                 struct kx_slice value);

struct member {
    const char *name;
    member_fn *read;
};

__attribute__((format(printf, 2, 3))) static enum kx_status
bad(struct reading *reading, const char *format, ...)
{
    char detail[KX_DETAIL_MAX];
    va_list list;
    va_start(list, format);
    vsnprintf(detail, sizeof detail, format, list);
    va_end(list);
    kx_fail(reading->fault, KX_BAD_INDEX, "%s", detail);
    if (reading->fault != NULL)
        snprintf(reading->fault->pointer, sizeof reading->fault->pointer, "%s",
                 reading->pointer);
    return KX_BAD_INDEX;
}

/* The characters of a string token, in the declaration's memory. */
static enum kx_status read_text(struct reading *reading, struct kx_slice value,
                                struct kx_slice *text_out)
{
    if (kx_json_type(value) != KX_JSON_STRING)
        return bad(reading, "%s must be a string", reading->pointer);
    struct kx_buffer text;
    kx_buffer_init(&text, reading->declaration);
    kx_json_unescape(value, &text);
    if (text.failed)
        return kx_fail(reading->fault, KX_NO_MEMORY, "no memory");
    *text_out = kx_buffer_slice(&text);
    return KX_OK;
}

static bool text_is(struct kx_slice text, const char *word)
{
    return kx_equal(text, kx_text(word));
}

static bool is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(struct kx_slice text)
{
    if (text.size == 0 || text.size > KX_INDEX_NAME_MAX)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        bool later = (c >= '0' && c <= '9') || c == '.' || c == '-';
        if (!is_letter(c) && !(later && i > 0))
            return false;
    }
    return true;
}

/* ASCII only: a name is part of keys and must look the same wherever it is
 * written. */
static enum kx_status read_name(struct reading *reading, struct kx_slice value)
{
    struct declaration *declaration = reading->declaration;
    enum kx_status status = read_text(reading, value, &declaration->name);
    if (status != KX_OK)
        return status;
    if (!is_name(declaration->name))
        return bad(reading,
                   "the name must be a letter or '_' and then at most %d "
                   "letters, digits, '_', '.' or '-'",
                   KX_INDEX_NAME_MAX - 1);
    struct kx_buffer key;
    kx_buffer_init(&key, declaration);
    status = kx_key_add_string(&key, declaration->name);
    declaration->name_key = kx_buffer_slice(&key);
    return key.failed ? KX_NO_MEMORY : status;
}

static enum kx_status read_prefix(struct reading *reading,
                                  struct kx_slice value)
{
    if (kx_json_type(value) != KX_JSON_ARRAY)
        return bad(reading, "prefix must be an array of key parts, such as "
                            "[\"users\"]");
    struct kx_fault fault = {.detail = ""};
    struct kx_buffer key;
    kx_buffer_init(&key, reading->declaration);
    enum kx_status status = kx_key_from_json(value, &key, &fault);
    if (key.failed || status == KX_NO_MEMORY)
        return kx_fail(reading->fault, KX_NO_MEMORY, "no memory");
    if (status != KX_OK)
        return bad(reading, "prefix: %s", fault.detail);
    if (key.size >= KX_KEY_MAX)
        return bad(reading, "the prefix is longer than %d bytes", KX_KEY_MAX);
    reading->has_prefix = true;
    reading->declaration->prefix = kx_buffer_slice(&key);
    return KX_OK;
}

static enum kx_status read_depth(struct reading *reading, struct kx_slice value)
{
    double depth = 0;
    if (kx_json_type(value) != KX_JSON_NUMBER ||
        !kx_number_parse(value, &depth) || depth < 1 || depth > KX_KEY_MAX ||
        depth != (double)(size_t)depth)
        return bad(reading, "depth must be a whole number from 1: how many "
                            "parts a key has after the prefix");
    reading->declaration->depth = (size_t)depth;
    return KX_OK;
}

/* An empty path is the whole value, as in RFC 6901. */
static enum kx_status read_path(struct reading *reading, struct kx_slice value,
                                struct field *field)
{
    enum kx_status status = read_text(reading, value, &field->path);
    if (status != KX_OK)
        return status;
    struct kx_slice path = field->path;
    if (path.size > 0 && path.data[0] != '/')
        return bad(reading, "a path is a JSON Pointer: it begins with '/', "
                            "such as \"/email\"");
    for (size_t i = 0; i < path.size; i++)
        if (path.data[i] == '~' &&
            (i + 1 == path.size ||
             (path.data[i + 1] != '0' && path.data[i + 1] != '1')))
            return bad(reading, "in a JSON Pointer '~' is written ~0 and '/' "
                                "within a name ~1");
    return KX_OK;
}

static enum kx_status read_fold(struct reading *reading, struct kx_slice value,
                                struct field *field)
{
    struct kx_slice text;
    enum kx_status status = read_text(reading, value, &text);
    if (status != KX_OK)
        return status;
    if (text_is(text, "lower"))
        field->fold = FOLD_LOWER;
    else if (text_is(text, "none"))
        field->fold = FOLD_NONE;
    else
        return bad(reading, "fold is \"none\" or \"lower\"");
    return KX_OK;
}

static enum kx_status read_field_object(struct reading *reading,
                                        struct kx_slice value,
                                        struct field *field)
{
    struct kx_json_iter members;
    kx_json_iterate(value, &members);
    struct kx_slice name;
    bool has_path = false;
    enum kx_status status = KX_OK;
    while (status == KX_OK && kx_json_next(&members, &name, &value)) {
        if (text_is(name, "\"path\"")) {
            has_path = true;
            status = read_path(reading, value, field);
        } else if (text_is(name, "\"fold\"")) {
            status = read_fold(reading, value, field);
        } else {
            status = bad(reading,
                         "%.*s is no member of a field; it has path and fold",
                         (int)name.size, (const char *)name.data);
        }
    }
    if (status == KX_OK && !has_path)
        return bad(reading, "a field needs a path, such as \"/email\"");
    return status;
}

static enum kx_status read_fields(struct reading *reading,
                                  struct kx_slice value)
{
    struct declaration *declaration = reading->declaration;
    struct kx_json_iter fields;
    if (kx_json_type(value) != KX_JSON_ARRAY ||
        !kx_json_iterate(value, &fields))
        return bad(reading, "fields must be an array of JSON Pointers, such "
                            "as [\"/email\"]");
    struct kx_slice name;
    enum kx_status status = KX_OK;
    while (status == KX_OK && kx_json_next(&fields, &name, &value)) {
        if (declaration->field_count == KX_FIELDS_MAX)
            return bad(reading, "an index has at most %d fields",
                       KX_FIELDS_MAX);
        struct field *field = &declaration->fields[declaration->field_count];
        snprintf(reading->pointer, sizeof reading->pointer, "/fields/%zu",
                 declaration->field_count++);
        if (kx_json_type(value) == KX_JSON_OBJECT)
            status = read_field_object(reading, value, field);
        else
            status = read_path(reading, value, field);
    }
    return status;
}

static enum kx_status read_unique(struct reading *reading,
                                  struct kx_slice value)
{
    enum kx_json_type type = kx_json_type(value);
    if (type != KX_JSON_TRUE && type != KX_JSON_FALSE)
        return bad(reading, "unique must be true or false");
    reading->declaration->unique = type == KX_JSON_TRUE;
    return KX_OK;
}

static enum kx_status read_store(struct reading *reading, struct kx_slice value)
{
    struct kx_slice text;
    enum kx_status status = read_text(reading, value, &text);
    if (status != KX_OK)
        return status;
    if (text_is(text, "pointer"))
        reading->declaration->store = STORE_POINTER;
    else if (text_is(text, "value"))
        reading->declaration->store = STORE_VALUE;
    else
        return bad(reading, "store is \"pointer\" or \"value\"");
    return KX_OK;
}

/* Only the default is known so far; it is read so that it may be said. */
static enum kx_status read_missing(struct reading *reading,
                                   struct kx_slice value)
{
    struct kx_slice text;
    enum kx_status status = read_text(reading, value, &text);
    if (status == KX_OK && !text_is(text, "skip"))
        return bad(reading, "missing is \"skip\": entries without an "
                            "indexable value are left out");
    return status;
}

static const struct member members[] = {
    {"\"name\"", read_name},       {"\"prefix\"", read_prefix},
    {"\"depth\"", read_depth},     {"\"fields\"", read_fields},
    {"\"unique\"", read_unique},   {"\"store\"", read_store},
    {"\"missing\"", read_missing},
};

enum { MEMBER_COUNT = sizeof members / sizeof members[0] };

static enum kx_status read_member(struct reading *reading, struct kx_slice name,
                                  struct kx_slice value)
{
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        if (!text_is(name, members[i].name))
            continue;
        snprintf(reading->pointer, sizeof reading->pointer, "/%.*s",
                 (int)name.size - 2, (const char *)name.data + 1);
        return members[i].read(reading, value);
    }
    snprintf(reading->pointer, sizeof reading->pointer, "/%.*s",
             name.size > 40 ? 40 : (int)name.size - 2,
             (const char *)name.data + 1);
    return bad(reading,
               "%.*s is no member of a declaration; it has name, prefix, "
               "depth, fields, unique, store and missing",
               (int)name.size, (const char *)name.data);
}

static enum kx_status read_members(struct reading *reading,
                                   struct kx_slice text)
{
    struct kx_json_iter iter;
    if (kx_json_type(text) != KX_JSON_OBJECT || !kx_json_iterate(text, &iter))
        return bad(reading, "a declaration is a JSON object");
    struct kx_slice name;
    struct kx_slice value;
    while (kx_json_next(&iter, &name, &value)) {
        enum kx_status status = read_member(reading, name, value);
        if (status != KX_OK)
            return status;
    }
    return KX_OK;
}

/* What no member can tell by itself. */
static enum kx_status check_whole(struct reading *reading)
{
    const struct declaration *declaration = reading->declaration;
    reading->pointer[0] = '\0';
    if (declaration->name.size == 0)
        return bad(reading, "a declaration needs a name");
    if (!reading->has_prefix)
        return bad(reading, "a declaration needs a prefix, such as "
                            "[\"users\"]");
    if (declaration->field_count == 0)
        return bad(reading, "a declaration needs at least one field, such as "
                            "\"/email\"");
    if (kx_starts_with(declaration->prefix, declaration->name_key))
        return bad(reading, "the prefix lies within the index's own entries: "
                            "choose another name");
    return KX_OK;
}

static void write_fields(const struct declaration *declaration,
                         struct kx_buffer *out)
{
    for (size_t i = 0; i < declaration->field_count; i++) {
        const struct field *field = &declaration->fields[i];
        kx_add_text(out, i == 0 ? "{\"path\":" : ",{\"path\":");
        kx_json_escape(field->path, out);
        if (field->fold == FOLD_LOWER)
            kx_add_text(out, ",\"fold\":\"lower\"");
        kx_add_byte(out, '}');
    }
}

static enum kx_status write_text(struct declaration *declaration)
{
    char depth[32];
    struct kx_buffer out;
    kx_buffer_init(&out, declaration);
    kx_add_text(&out, "{\"name\":");
    kx_json_escape(declaration->name, &out);
    kx_add_text(&out, ",\"prefix\":");
    kx_key_to_json(declaration->prefix, &out);
    if (declaration->depth != 0) {
        snprintf(depth, sizeof depth, ",\"depth\":%zu", declaration->depth);
        kx_add_text(&out, depth);
    }
    kx_add_text(&out, ",\"fields\":[");
    write_fields(declaration, &out);
    kx_add_text(&out, declaration->unique ? "],\"unique\":true"
                                          : "],\"unique\":false");
    kx_add_text(&out, declaration->store == STORE_VALUE
                          ? ",\"store\":\"value\""
                          : ",\"store\":\"pointer\"");
    kx_add_text(&out, ",\"missing\":\"skip\"}");
    declaration->text = kx_buffer_slice(&out);
    return out.failed ? KX_NO_MEMORY : KX_OK;
}

enum kx_status declaration_parse(void *mem, struct kx_slice text,
                                 struct declaration **declaration_out,
                                 struct kx_fault *fault)
{
    enum kx_status status = kx_json_check(text, fault);
    if (status != KX_OK)
        return status;
    struct declaration *declaration = talloc_zero(mem, struct declaration);
    if (declaration == NULL)
        return kx_fail(fault, KX_NO_MEMORY, "no memory");
    struct reading reading = {.declaration = declaration, .fault = fault};
    status = read_members(&reading, text);
    if (status == KX_OK)
        status = check_whole(&reading);
    if (status == KX_OK)
        status = write_text(declaration);
    if (status == KX_OK)
        *declaration_out = declaration;
    else
        talloc_free(declaration);
    return status;
}

/* The raw value of a member in a canonical text, empty when it is not there. */
static struct kx_slice member_of(const struct declaration *declaration,
                                 const char *token)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    kx_json_iterate(declaration->text, &iter);
    while (kx_json_next(&iter, &name, &value))
        if (text_is(name, token))
            return value;
    return kx_slice(NULL, 0);
}

void declaration_difference(const struct declaration *have,
                            const struct declaration *want,
                            struct kx_buffer *out)
{
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        struct kx_slice a = member_of(have, members[i].name);
        struct kx_slice b = member_of(want, members[i].name);
        if (kx_equal(a, b))
            continue;
        kx_add_text(out, out->size == 0 ? "" : "; ");
        kx_add_text(out, members[i].name);
        kx_add_text(out, " is ");
        kx_add_slice(out, a.size == 0 ? kx_text("not given") : a);
        kx_add_text(out, ", not ");
        kx_add_slice(out, b.size == 0 ? kx_text("left out") : b);
    }
}

static size_t count_parts(struct kx_slice rest)
{
    size_t count = 0;
    size_t size = 0;
    while ((size = kx_part_size(rest)) != 0) {
        rest = kx_slice(rest.data + size, rest.size - size);
        count++;
    }
    return count;
}

/* The entry must have at least one part behind the prefix: what an index entry
 * calls its owner is never empty. */
bool declaration_covers(const struct declaration *declaration,
                        struct kx_slice key)
{
    size_t size = declaration->prefix.size;
    if (key.size <= size || !kx_starts_with(key, declaration->prefix))
        return false;
    struct kx_slice rest = kx_slice(key.data + size, key.size - size);
    /* A 00 that ends the prefix's last part may be an escaped zero of a longer
     * part: then ff follows, which begins no part. */
    if (size > 0 && rest.data[0] == 0xff)
        return false;
    return declaration->depth == 0 || count_parts(rest) == declaration->depth;
}
