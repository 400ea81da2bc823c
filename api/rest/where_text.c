/* Translates the short form of conditions to JSON. */
#include "rest/where_text.h"

/* The comparisons. "<=" must come before "<", and so on. */
static const struct operator
{
    const char *text;
    const char *member;
}
OPERATORS[] = {
    {"!=", ",\"ne\":"}, {">=", ",\"ge\":"}, {"<=", ",\"le\":"},
    {"=", ",\"eq\":"},  {">", ",\"gt\":"},  {"<", ",\"lt\":"},
};

static struct kx_slice after(struct kx_slice text, size_t size)
{
    return kx_slice(text.data + size, text.size - size);
}

/* Returns the operator at the start of text, or NULL. */
static const struct operator* operator_at(struct kx_slice text)
{
    for (size_t i = 0; i < sizeof OPERATORS / sizeof *OPERATORS; i++)
        if (kx_starts_with(text, kx_text(OPERATORS[i].text)))
            return &OPERATORS[i];
    return NULL;
}

/* The number of bytes of a quoted string at the start of text. */
static size_t quoted_size(struct kx_slice text)
{
    size_t size = 1;
    while (size < text.size && text.data[size] != '"')
        size += text.data[size] == '\\' ? 2 : 1;
    return size < text.size ? size + 1 : text.size;
}

/* The number of bytes of a value: up to the next comma that is not in a quoted
 * string. */
static size_t value_size(struct kx_slice text)
{
    bool quoted = text.size > 0 && text.data[0] == '"';
    size_t size = quoted ? quoted_size(text) : 0;
    while (size < text.size && text.data[size] != ',')
        size++;
    return size;
}

static bool is_scalar(struct kx_slice value)
{
    struct kx_fault fault;
    if (kx_json_check(value, &fault) != KX_OK)
        return false;
    enum kx_json_type type = kx_json_type(value);
    return type != KX_JSON_OBJECT && type != KX_JSON_ARRAY;
}

static void add_path(struct kx_slice text, struct kx_buffer *out)
{
    struct kx_buffer path;
    kx_buffer_init(&path, out->owner);
    kx_add(&path, "/", text.data[0] != '/');
    kx_add_slice(&path, text);
    kx_json_escape(kx_buffer_slice(&path), out);
    out->failed |= path.failed;
    kx_buffer_free(&path);
}

/* Appends a value. Returns false if it begins with a quote but is no JSON
 * string. */
static bool add_value(struct kx_slice value, struct kx_buffer *out)
{
    if (is_scalar(value)) {
        kx_add_slice(out, value);
        return true;
    }
    kx_json_escape(value, out);
    return value.size == 0 || value.data[0] != '"';
}

/* Appends the condition at the start of text and removes it from there. */
static bool read_condition(struct kx_slice *text, struct kx_buffer *out)
{
    const struct operator* found = NULL;
    size_t size = 0;
    while (size < text->size && text->data[size] != ',' &&
           (found = operator_at(after(*text, size))) == NULL)
        size++;
    if (size == 0 || found == NULL)
        return false;
    kx_add_text(out, "{\"path\":");
    add_path(kx_slice(text->data, size), out);
    kx_add_text(out, found->member);
    *text = after(*text, size + strlen(found->text));
    size = value_size(*text);
    bool added = add_value(kx_slice(text->data, size), out);
    kx_add_byte(out, '}');
    *text = after(*text, size);
    return added;
}

bool where_text_read(struct kx_slice text, struct kx_buffer *out)
{
    if (text.size > 0 && strchr("{[", text.data[0]) != NULL) {
        kx_add_slice(out, text);
        return true;
    }
    kx_add_byte(out, '[');
    while (read_condition(&text, out)) {
        if (text.size == 0) {
            kx_add_byte(out, ']');
            return true;
        }
        if (text.data[0] != ',')
            return false;
        kx_add_byte(out, ',');
        text = after(text, 1);
    }
    return false;
}
