/* Conversion of V8 values to the typed form. A value is wrapped as
 * {"type":...,"value":...}; names, messages and stacks are plain strings. */
#include "entry/v8_typed.h"

#include <stdio.h>

#include "v8/v8_bigint.h"
#include "v8/v8_date.h"
#include "v8/v8_text.h"

static const struct view_name {
    char type;
    const char *name;
} VIEWS[] = {
    {'b', "Int8Array"},    {'B', "Uint8Array"},    {'C', "Uint8ClampedArray"},
    {'w', "Int16Array"},   {'W', "Uint16Array"},   {'d', "Int32Array"},
    {'D', "Uint32Array"},  {'h', "Float16Array"},  {'f', "Float32Array"},
    {'F', "Float64Array"}, {'q', "BigInt64Array"}, {'Q', "BigUint64Array"},
    {'?', "DataView"},
};

static const struct error_name {
    char letter;
    const char *name;
} ERRORS[] = {
    {0, "Error"},         {'E', "EvalError"},
    {'R', "RangeError"},  {'F', "ReferenceError"},
    {'S', "SyntaxError"}, {'T', "TypeError"},
    {'U', "URIError"},
};

/* Bit 0 is g. Bit 6 is internal to V8 and has no letter. */
const char v8_flags[] = "gimyus?dv";

/* The name of a view's type by V8's letter; NULL for an unknown letter. */
static const char *view_name(uint8_t type)
{
    for (size_t i = 0; i < sizeof VIEWS / sizeof *VIEWS; i++)
        if (VIEWS[i].type == (char)type)
            return VIEWS[i].name;
    return NULL;
}

uint8_t v8_view_type(struct kx_slice name)
{
    for (size_t i = 0; i < sizeof VIEWS / sizeof *VIEWS; i++)
        if (kx_equal(kx_text(VIEWS[i].name), name))
            return (uint8_t)VIEWS[i].type;
    return 0;
}

static const char *error_name(uint8_t letter)
{
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++)
        if (ERRORS[i].letter == (char)letter)
            return ERRORS[i].name;
    return NULL;
}

bool v8_error_letter(struct kx_slice name, uint8_t *letter_out)
{
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++) {
        *letter_out = (uint8_t)ERRORS[i].letter;
        if (kx_equal(kx_text(ERRORS[i].name), name))
            return true;
    }
    return false;
}

/* ---- Before and after values -------------------------------------- */

static const char HOLE[] = "{\"type\":\"hole\"}";

static bool write_name(struct v8_text *text)
{
    enum v8_kind kind = v8_top(&text->reader)->kind;
    if (kind == V8_SPARSE)
        return v8_text_index(text, HOLE);
    return kind == V8_OBJECT && v8_text_name(text);
}

static bool begin(struct v8_text *text)
{
    switch ((int)text->token.role) {
    case V8_ELEMENT:
        v8_text_comma(text);
        break;
    case V8_KEY:
        kx_add_text(text->out, text->token.index > 0 ? "],[" : "[");
        break;
    case V8_MAPPED:
        kx_add_byte(text->out, ',');
        break;
    case V8_CAUSE:
        v8_text_comma(text);
        kx_add_text(text->out, "\"cause\":");
        break;
    default:
        break;
    }
    return !text->token.boxed && text->levels < KX_JSON_DEPTH_MAX;
}

/* Writes {"type":"... and then `rest`. */
static bool begin_type(struct v8_text *text, const char *type, const char *rest)
{
    bool fits = begin(text);
    kx_add_text(text->out, "{\"type\":\"");
    kx_add_text(text->out, type);
    kx_add_text(text->out, rest);
    return fits;
}

static bool end_type(struct v8_text *text)
{
    kx_add_byte(text->out, '}');
    return true;
}

/* ---- Primitive values --------------------------------------------------- */

static bool write_undefined(struct v8_text *text)
{
    return begin_type(text, "undefined", "\"}");
}

static bool write_null(struct v8_text *text)
{
    return begin_type(text, "null", "\",\"value\":null}");
}

static bool write_hole(struct v8_text *text)
{
    return begin_type(text, "hole", "\"}");
}

static bool write_boolean(struct v8_text *text)
{
    bool value = text->token.kind == V8_TRUE;
    return begin_type(text, "boolean",
                      value ? "\",\"value\":true}" : "\",\"value\":false}");
}

static bool write_number(struct v8_text *text)
{
    double number = text->token.number;
    if (text->token.role == V8_NAME)
        return write_name(text);
    if (!begin_type(text, "number", "\",\"value\":"))
        return false;
    if (!v8_text_number(text, number)) {
        kx_add_byte(text->out, '"');
        kx_add_text(text->out, kx_number_special_name(number));
        kx_add_byte(text->out, '"');
    }
    return end_type(text);
}

static bool write_bigint(struct v8_text *text)
{
    struct v8_bigint number = {.bytes = text->token.bytes,
                               .negative = text->token.negative};
    if (!begin_type(text, "bigint", "\",\"value\":\"") ||
        !v8_bigint_write(number, text->out))
        return false;
    kx_add_text(text->out, "\"}");
    return true;
}

/* Writes a message or stack, as a string without a type. */
static bool write_field(struct v8_text *text, const char *name)
{
    v8_text_comma(text);
    kx_add_text(text->out, name);
    return v8_text_string(text, &text->token.string);
}

/* JSON cannot express a lone surrogate, so utf16 has the exact characters. */
static bool write_string(struct v8_text *text)
{
    if (text->token.role == V8_NAME)
        return write_name(text);
    if (text->token.role == V8_MESSAGE)
        return write_field(text, "\"message\":");
    if (text->token.role == V8_STACK)
        return write_field(text, "\"stack\":");
    if (!begin_type(text, "string", "\",\"value\":"))
        return false;
    if (!v8_text_string(text, &text->token.string)) {
        kx_add_text(text->out, ",\"utf16\":\"");
        kx_base64_write(text->token.string.bytes, text->out);
        kx_add_byte(text->out, '"');
    }
    return end_type(text);
}

static bool write_date(struct v8_text *text)
{
    char date[32];
    if (!begin_type(text, "Date", "\",\"value\":\"") ||
        !v8_date_write(text->token.number, date))
        return false;
    kx_add_text(text->out, date);
    kx_add_text(text->out, "\"}");
    return true;
}

/* The source is written as a string, whose quotes are then replaced by
 * slashes. */
static bool write_regexp(struct v8_text *text)
{
    static const char order[] = "dgimsuvy";
    struct kx_buffer *out = text->out;
    if (!begin_type(text, "RegExp", "\",\"value\":\""))
        return false;
    size_t first = out->size;
    if (!v8_text_string(text, &text->token.string) || out->failed)
        return false;
    out->data[first] = out->data[out->size - 1] = '/';
    uint32_t left = text->token.flags;
    for (const char *flag = order; *flag != '\0'; flag++) {
        uint32_t bit = 1u << (strchr(v8_flags, *flag) - v8_flags);
        kx_add(out, flag, (left & bit) != 0);
        left &= ~bit;
    }
    kx_add_text(out, "\"}");
    return left == 0;
}

/* ---- Bytes -------------------------------------------------------------- */

static bool add_base64(struct v8_text *text, struct kx_slice bytes)
{
    char length[40];
    kx_base64_write(bytes, text->out);
    kx_add(text->out, length,
           (size_t)snprintf(length, sizeof length, "\",\"byteLength\":%zu",
                            bytes.size));
    return true;
}

static bool write_buffer(struct v8_text *text)
{
    const struct v8_buffer *buffer = &text->token.buffer;
    char most[40];
    if (!begin_type(text, "ArrayBuffer", "\",\"value\":\""))
        return false;
    add_base64(text, buffer->bytes);
    if (buffer->resizable)
        kx_add(text->out, most,
               (size_t)snprintf(most, sizeof most, ",\"maxByteLength\":%u",
                                buffer->most));
    return end_type(text);
}

/* kv-utils has no type for a length-tracking view, or for one of a resizable
 * buffer. */
static bool write_view(struct v8_text *text)
{
    const char *name = view_name(text->token.view.type);
    return !text->token.buffer.resizable && text->token.view.flags == 0 &&
           begin_type(text, name, "\",\"value\":\"") &&
           add_base64(text, text->token.bytes) && end_type(text);
}

/* ---- Containers --------------------------------------------------------- */

static const struct container {
    const char *type;
    const char *open;
    const char *close;
    unsigned levels;
} CONTAINERS[V8_KINDS] = {
    [V8_OBJECT] = {"object", "{", "}}", 2},
    [V8_ARRAY] = {"Array", "[", "]}", 2},
    [V8_SPARSE] = {"Array", "[", "]}", 2},
    [V8_MAP] = {"Map", "[", "]}", 3},
    [V8_SET] = {"Set", "[", "]}", 2},
    [V8_ERROR] = {NULL, "{", "}}", 2},
};

static bool write_open(struct v8_text *text)
{
    const struct container *container = &CONTAINERS[text->token.kind];
    const char *type = container->type != NULL ? container->type
                                               : error_name(text->token.letter);
    return begin_type(text, type, "\",\"value\":") &&
           v8_text_open(text, container->open, container->levels);
}

static bool write_end(struct v8_text *text)
{
    const struct container *container = &CONTAINERS[text->token.closes];
    if (text->token.closes == V8_SPARSE && !v8_text_last(text, HOLE))
        return false;
    if (text->token.closes == V8_MAP && text->token.index > 0)
        kx_add_byte(text->out, ']');
    return v8_text_close(text, container->close, container->levels);
}

static v8_write_fn *const TYPED[V8_KINDS] = {
    [V8_UNDEFINED] = write_undefined,
    [V8_NULL] = write_null,
    [V8_TRUE] = write_boolean,
    [V8_FALSE] = write_boolean,
    [V8_NUMBER] = write_number,
    [V8_BIGINT] = write_bigint,
    [V8_STRING] = write_string,
    [V8_HOLE] = write_hole,
    [V8_DATE] = write_date,
    [V8_REGEXP] = write_regexp,
    [V8_BUFFER] = write_buffer,
    [V8_VIEW] = write_view,
    [V8_REFERENCE] = v8_text_enter,
    [V8_OBJECT] = write_open,
    [V8_ARRAY] = write_open,
    [V8_SPARSE] = write_open,
    [V8_MAP] = write_open,
    [V8_SET] = write_open,
    [V8_ERROR] = write_open,
    [V8_END] = write_end,
};

enum kx_status v8_typed_write(struct kx_slice bytes, struct kx_buffer *out)
{
    return v8_text_write(bytes, TYPED, out, NULL);
}
