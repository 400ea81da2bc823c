/* V8 values as plain JSON, if JSON can carry them, and as the JSON in which
 * indexes find their fields. */
#include "entry/v8_json.h"

#include <math.h>

#include "v8/v8_text.h"

/* ---- Plain JSON --------------------------------------------------------- */

static bool write_null(struct v8_text *text)
{
    v8_text_null(text);
    return true;
}

static bool write_boolean(struct v8_text *text)
{
    v8_text_begin(text);
    kx_add_text(text->out, text->token.kind == V8_TRUE ? "true" : "false");
    return !text->token.boxed;
}

/* V8 also writes an array as sparse if it once had holes. So a sparse array may
 * have none. */
static bool write_name(struct v8_text *text)
{
    enum v8_kind kind = v8_top(&text->reader)->kind;
    if (kind == V8_SPARSE)
        return v8_text_index(text, NULL);
    return kind == V8_OBJECT && v8_text_name(text);
}

static bool write_number(struct v8_text *text)
{
    if (text->token.role == V8_NAME)
        return write_name(text);
    v8_text_begin(text);
    return !text->token.boxed && v8_text_number(text, text->token.number);
}

static bool write_string(struct v8_text *text)
{
    if (text->token.role == V8_NAME)
        return write_name(text);
    v8_text_begin(text);
    return !text->token.boxed && v8_text_string(text, &text->token.string);
}

static bool write_open(struct v8_text *text)
{
    v8_text_begin(text);
    return v8_text_open(text, text->token.kind == V8_OBJECT ? "{" : "[", 1);
}

static bool write_end(struct v8_text *text)
{
    if (text->token.closes == V8_SPARSE && !v8_text_last(text, NULL))
        return false;
    return v8_text_close(text, text->token.closes == V8_OBJECT ? "}" : "]", 1);
}

static v8_write_fn *const PLAIN[V8_KINDS] = {
    [V8_NULL] = write_null,     [V8_TRUE] = write_boolean,
    [V8_FALSE] = write_boolean, [V8_NUMBER] = write_number,
    [V8_STRING] = write_string, [V8_REFERENCE] = v8_text_enter,
    [V8_OBJECT] = write_open,   [V8_ARRAY] = write_open,
    [V8_SPARSE] = write_open,   [V8_END] = write_end,
};

enum kx_status kx_v8_to_json(struct kx_slice bytes, struct kx_buffer *out)
{
    return v8_text_write(bytes, PLAIN, out, NULL);
}

/* ---- Fields ------------------------------------------------------------- */

/* Writes null for a value in which no field can be found. */
static bool field_null(struct v8_text *text)
{
    text->changed = true;
    return write_null(text);
}

/* An undefined member of an object is omitted. */
static bool field_undefined(struct v8_text *text)
{
    text->changed = true;
    if (text->token.role == V8_MEMBER && text->token.kind == V8_UNDEFINED &&
        v8_top(&text->reader)->kind == V8_OBJECT) {
        text->out->size = text->name_at;
        return true;
    }
    return write_null(text);
}

static bool field_boolean(struct v8_text *text)
{
    text->changed |= text->token.boxed;
    text->token.boxed = false;
    return write_boolean(text);
}

/* Writes a value that JSON cannot express as a part of a key. */
static bool field_part(struct v8_text *text, const struct kx_part *part)
{
    text->changed = true;
    v8_text_begin(text);
    kx_part_to_json(part, text->out);
    return true;
}

/* An array ends at its first named property, and at an element after too many
 * holes; the remainder is skipped. A lone surrogate becomes U+FFFD, as in
 * keys. */
static bool field_name(struct v8_text *text)
{
    enum v8_kind kind = v8_top(&text->reader)->kind;
    if (kind == V8_SPARSE && v8_text_index(text, "null"))
        return true;
    if (kind != V8_OBJECT) {
        text->changed = true;
        return v8_skip(&text->reader) && v8_text_close(text, "]", 1);
    }
    if (!v8_text_name(text))
        text->changed = true;
    return true;
}

static bool field_end(struct v8_text *text)
{
    return v8_text_close(text, text->token.closes == V8_OBJECT ? "}" : "]", 1);
}

static bool field_number(struct v8_text *text)
{
    const char *special = kx_number_special_name(text->token.number);
    text->changed |= text->token.boxed || special != NULL;
    if (text->token.role == V8_NAME)
        return field_name(text);
    if (special != NULL && text->token.number != 0) {
        /* A JavaScript program cannot see the sign of a NaN. */
        double number = isnan(text->token.number) ? NAN : text->token.number;
        return field_part(
            text, &(struct kx_part){.type = KX_NUMBER, .number = number});
    }
    char digits[32];
    v8_text_begin(text);
    kx_add(text->out, digits, kx_number_text(text->token.number, digits));
    return true;
}

static bool field_date(struct v8_text *text)
{
    text->changed = true;
    if (text->token.number != text->token.number)
        return field_null(text);
    return field_number(text);
}

static bool field_string(struct v8_text *text)
{
    if (text->token.role == V8_NAME)
        return field_name(text);
    v8_text_begin(text);
    if (!v8_text_string(text, &text->token.string) || text->token.boxed)
        text->changed = true;
    return true;
}

static bool field_bigint(struct v8_text *text)
{
    uint8_t magnitude[KX_BIGINT_MAX];
    struct kx_part part = {.type = KX_BIGINT, .negative = text->token.negative};
    struct kx_slice bytes = text->token.bytes;
    while (bytes.size > 0 && bytes.data[bytes.size - 1] == 0)
        bytes.size--;
    if (bytes.size > KX_BIGINT_MAX)
        return field_null(text);
    for (size_t i = 0; i < bytes.size; i++)
        magnitude[i] = bytes.data[bytes.size - 1 - i];
    part.bytes = kx_slice(magnitude, bytes.size);
    return field_part(text, &part);
}

static bool field_view(struct v8_text *text)
{
    if (text->token.view.type != 'B')
        return field_null(text);
    return field_part(text, &(struct kx_part){.type = KX_BYTES_PART,
                                              .bytes = text->token.bytes});
}

/* Writes null for a container in which no field can be found. */
static bool field_closed(struct v8_text *text)
{
    return field_null(text) && v8_skip(&text->reader);
}

static bool field_open(struct v8_text *text)
{
    if (text->levels == KX_JSON_DEPTH_MAX)
        return field_closed(text);
    if (text->token.kind == V8_SET || text->token.kind == V8_SPARSE)
        text->changed = true;
    return write_open(text);
}

static bool field_reference(struct v8_text *text)
{
    return v8_text_try_enter(text) || field_null(text);
}

static v8_write_fn *const FIELDS[V8_KINDS] = {
    [V8_UNDEFINED] = field_undefined,
    [V8_NULL] = write_null,
    [V8_TRUE] = field_boolean,
    [V8_FALSE] = field_boolean,
    [V8_NUMBER] = field_number,
    [V8_BIGINT] = field_bigint,
    [V8_STRING] = field_string,
    [V8_HOLE] = field_null,
    [V8_DATE] = field_date,
    [V8_REGEXP] = field_null,
    [V8_BUFFER] = field_null,
    [V8_VIEW] = field_view,
    [V8_REFERENCE] = field_reference,
    [V8_OBJECT] = field_open,
    [V8_ARRAY] = field_open,
    [V8_SET] = field_open,
    [V8_SPARSE] = field_open,
    [V8_MAP] = field_closed,
    [V8_ERROR] = field_closed,
    [V8_HOST] = field_closed,
    [V8_END] = field_end,
};

enum kx_status v8_fields(struct kx_slice bytes, struct kx_buffer *out,
                         bool *plain_out)
{
    bool changed;
    enum kx_status status = v8_text_write(bytes, FIELDS, out, &changed);
    *plain_out = !changed;
    return status;
}

void kx_v8_members(struct kx_slice bytes, struct kx_buffer *out)
{
    bool plain;
    if (v8_fields(bytes, out, &plain) == KX_NO_MEMORY)
        out->failed = true;
}
