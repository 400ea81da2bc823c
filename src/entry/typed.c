/* The typed form of kv-utils (kindex/value.h describes it), written for V8
 * values and read into values of any encoding. The recursion is as deep as the
 * text, at most KX_JSON_DEPTH_MAX.
 *
 * One file because each type has its writer and its reader, which must agree:
 * both use the same names of types, views, errors and flags. */
#include "entry/typed.h"

#include <math.h>
#include <stdio.h>
#include <talloc.h>

#include "v8/v8_bigint.h"
#include "v8/v8_date.h"
#include "v8/v8_reader.h"
#include "v8/v8_text.h"
#include "v8/v8_writer.h"

/* Where a typed value is written as V8. */
struct typed_sink {
    struct v8_writer writer;
    void *memory; /* for scratch, freed after the whole value */
    struct kx_fault *fault;
};

/* ---- Members ------------------------------------------------------------ */

/* Fills fault and returns KX_BAD_VALUE with this detail. */
static enum kx_status bad(struct kx_fault *fault, const char *detail)
{
    return kx_fail(fault, KX_BAD_VALUE, "%s", detail);
}

static const struct typed_member {
    const char *name; /* with its quotes */
    size_t place;
} MEMBERS[] = {
    {"\"type\"", offsetof(struct typed, type)},
    {"\"value\"", offsetof(struct typed, value)},
    {"\"byteLength\"", offsetof(struct typed, length)},
    {"\"maxByteLength\"", offsetof(struct typed, most)},
    {"\"mediaType\"", offsetof(struct typed, media_type)},
    {"\"utf16\"", offsetof(struct typed, utf16)},
};

/* The member with this name; NULL for a name that a typed value does not
 * have. */
static struct kx_slice *member_of(struct typed *typed, struct kx_slice name)
{
    for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS; i++)
        if (kx_equal(name, kx_text(MEMBERS[i].name)))
            return (struct kx_slice *)((char *)typed + MEMBERS[i].place);
    return NULL;
}

/* undefined and hole have no value. */
static bool has_no_value(const struct typed *typed)
{
    return kx_equal(typed->type, kx_text("undefined")) ||
           kx_equal(typed->type, kx_text("hole"));
}

enum kx_status typed_members(struct kx_slice json, struct typed *out,
                             struct kx_fault *fault)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    *out = (struct typed){0};
    if (!kx_json_iterate(json, &iter) || !iter.object)
        return bad(fault, "A typed value is an object "
                          "{\"type\":...,\"value\":...}.");
    while (kx_json_next(&iter, &name, &value)) {
        struct kx_slice *member = member_of(out, name);
        if (member == NULL)
            return kx_fail(fault, KX_BAD_VALUE,
                           "A typed value does not have the member %.*s.",
                           kx_excerpt_size(name), (const char *)name.data);
        *member = value;
    }
    if (out->type.size == 0 || kx_json_type(out->type) != KX_JSON_STRING)
        return bad(fault, "The member type of a typed value is a string.");
    out->type = kx_slice(out->type.data + 1, out->type.size - 2);
    if (out->value.size == 0 && !has_no_value(out))
        return bad(fault, "A typed value has a member value.");
    return KX_OK;
}

static enum kx_status member_text(struct kx_slice token, const void *memory,
                                  struct kx_slice *text_out,
                                  struct kx_fault *fault)
{
    struct kx_buffer text;
    if (token.size == 0 || kx_json_type(token) != KX_JSON_STRING)
        return bad(fault, "value, mediaType and utf16 are strings here.");
    kx_buffer_init(&text, memory);
    kx_json_unescape(token, &text);
    *text_out = kx_buffer_slice(&text);
    return text.failed ? KX_NO_MEMORY : KX_OK;
}

/* kv-utils also writes byteLength. It is optional, but must be correct. */
static enum kx_status member_bytes(const struct typed *typed,
                                   struct kx_slice token, const void *memory,
                                   struct kx_slice *bytes_out,
                                   struct kx_fault *fault)
{
    struct kx_slice text = {0};
    struct kx_buffer bytes;
    double length = 0;
    enum kx_status status = member_text(token, memory, &text, fault);
    if (status != KX_OK)
        return status;
    kx_buffer_init(&bytes, memory);
    if (!kx_base64_read(text, &bytes))
        return bad(fault, "Bytes are written in base64url without "
                          "padding.");
    if (bytes.failed)
        return KX_NO_MEMORY;
    if (typed->length.size != 0 && (!kx_number_parse(typed->length, &length) ||
                                    length != (double)bytes.size))
        return bad(fault, "byteLength is not the number of bytes in value.");
    *bytes_out = kx_buffer_slice(&bytes);
    return KX_OK;
}

/* True for a scalar whose value is written in plain JSON. */
static bool is_plain_scalar(const struct typed *typed)
{
    static const struct scalar {
        const char *type;
        enum kx_json_type json;
    } scalars[] = {
        {"string", KX_JSON_STRING}, {"number", KX_JSON_NUMBER},
        {"null", KX_JSON_NULL},     {"boolean", KX_JSON_TRUE},
        {"boolean", KX_JSON_FALSE},
    };
    if (typed->value.size == 0 || typed->utf16.size > 0)
        return false;
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (kx_equal(typed->type, kx_text(scalars[i].type)) &&
            kx_json_type(typed->value) == scalars[i].json)
            return true;
    return false;
}

/* Conversion of V8 values to the typed form. A value is wrapped as
 * {"type":...,"value":...}; names, messages and stacks are plain strings. */

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
static const char FLAGS[] = "gimyus?dv";

/* The name of a view's type by V8's letter; NULL for an unknown letter. */
static const char *view_name(uint8_t type)
{
    for (size_t i = 0; i < sizeof VIEWS / sizeof *VIEWS; i++)
        if (VIEWS[i].type == (char)type)
            return VIEWS[i].name;
    return NULL;
}

/* V8's letter for the name of a typed array or DataView ("Uint8Array"); 0 for
 * other names. */
static uint8_t view_type(struct kx_slice name)
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

/* V8's letter for the name of an error ("TypeError"); 0 for "Error". False for
 * other names. */
static bool error_letter(struct kx_slice name, uint8_t *letter_out)
{
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++) {
        *letter_out = (uint8_t)ERRORS[i].letter;
        if (kx_equal(kx_text(ERRORS[i].name), name))
            return true;
    }
    return false;
}

/* ---- V8 to the typed form: before and after values ------------------------
 */

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
        uint32_t bit = 1u << (strchr(FLAGS, *flag) - FLAGS);
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

enum kx_status typed_write(struct kx_slice bytes, struct kx_buffer *out)
{
    return v8_text_write(bytes, TYPED, out, NULL);
}

/* ---- The typed form to V8: scalars ----------------------------------------
 */

static enum kx_status put_undefined(struct typed_sink *sink,
                                    const struct typed *typed)
{
    (void)typed;
    v8_put_tag(&sink->writer, '_');
    return KX_OK;
}

/* A string with lone surrogates has its exact characters in utf16. */
static enum kx_status put_utf16(struct typed_sink *sink,
                                const struct typed *typed)
{
    struct kx_slice bytes;
    enum kx_status status =
        member_bytes(typed, typed->utf16, sink->memory, &bytes, sink->fault);
    if (status != KX_OK)
        return status;
    if (bytes.size % 2 != 0 || kx_json_type(typed->value) != KX_JSON_STRING)
        return bad(
            sink->fault,
            "utf16 is the UTF-16 of a string, little endian, in base64url.");
    v8_put_utf16(&sink->writer, bytes);
    return KX_OK;
}

/* The numbers that JSON cannot express are written as strings. */
static enum kx_status put_number(struct typed_sink *sink,
                                 const struct typed *typed)
{
    struct kx_slice name;
    double number;
    enum kx_status status =
        member_text(typed->value, sink->memory, &name, sink->fault);
    if (status != KX_OK)
        return status;
    /* The parts of a pointer are parts of keys. */
    if (!kx_key_number_special(name, &number))
        return bad(sink->fault, "The value of a number is a number, \"NaN\", "
                                "\"Infinity\", \"-Infinity\" or \"-0\".");
    v8_put_number(&sink->writer, number);
    return KX_OK;
}

static enum kx_status put_scalar(struct typed_sink *sink,
                                 const struct typed *typed)
{
    if (is_plain_scalar(typed)) {
        v8_encode(&sink->writer, typed->value);
        return KX_OK;
    }
    if (kx_equal(typed->type, kx_text("string")) && typed->utf16.size > 0)
        return put_utf16(sink, typed);
    if (kx_equal(typed->type, kx_text("number")))
        return put_number(sink, typed);
    return kx_fail(sink->fault, KX_BAD_VALUE,
                   "The value of a %.*s has another type.",
                   (int)typed->type.size, (const char *)typed->type.data);
}

static enum kx_status put_bigint(struct typed_sink *sink,
                                 const struct typed *typed)
{
    struct kx_slice digits;
    struct kx_buffer bytes;
    struct v8_bigint number;
    enum kx_status status =
        member_text(typed->value, sink->memory, &digits, sink->fault);
    if (status != KX_OK)
        return status;
    kx_buffer_init(&bytes, sink->memory);
    if (!v8_bigint_read(digits, &bytes, &number))
        return bad(sink->fault,
                   "The value of a bigint is a string of an optional '-' "
                   "and decimal digits, for at most 4096 bytes.");
    v8_put_bigint(&sink->writer, number.bytes, number.negative);
    return bytes.failed ? KX_NO_MEMORY : KX_OK;
}

_Static_assert(KX_V8_BIGINT_MAX == 4096, "the sentence says 4096");

/* kv-utils writes an invalid date as null. */
static enum kx_status put_date(struct typed_sink *sink,
                               const struct typed *typed)
{
    struct kx_slice text;
    double time = NAN;
    if (kx_json_type(typed->value) != KX_JSON_NULL) {
        enum kx_status status =
            member_text(typed->value, sink->memory, &text, sink->fault);
        if (status != KX_OK)
            return status;
        if (!v8_date_read(text, &time))
            return bad(sink->fault, "The value of a Date is a string such as "
                                    "\"2023-04-23T00:00:00.123Z\".");
    }
    v8_put_double(&sink->writer, 'D', time);
    return KX_OK;
}

static bool read_flags(struct kx_slice letters, uint32_t *flags_out)
{
    uint32_t flags = 0;
    for (size_t i = 0; i < letters.size; i++) {
        const char *flag = memchr(FLAGS, letters.data[i], strlen(FLAGS));
        if (flag == NULL || *flag == '?')
            return false;
        uint32_t bit = 1u << (flag - FLAGS);
        if ((flags & bit) != 0)
            return false;
        flags |= bit;
    }
    *flags_out = flags;
    return true;
}

/* The flags follow the last slash. */
static enum kx_status put_regexp(struct typed_sink *sink,
                                 const struct typed *typed)
{
    struct kx_slice text;
    uint32_t flags;
    enum kx_status status =
        member_text(typed->value, sink->memory, &text, sink->fault);
    if (status != KX_OK)
        return status;
    const uint8_t *last =
        text.size == 0 ? NULL : memrchr(text.data, '/', text.size);
    size_t end = last == NULL ? 0 : (size_t)(last - text.data);
    if (end == 0 || text.data[0] != '/' ||
        !read_flags(kx_slice(last + 1, text.size - end - 1), &flags))
        return bad(
            sink->fault,
            "The value of a RegExp is a string such as \"/source/dgimsuvy\".");
    v8_put_tag(&sink->writer, 'R');
    v8_put_string(&sink->writer, kx_slice(text.data + 1, end - 1));
    v8_put_varint(&sink->writer, flags);
    return KX_OK;
}

/* ---- Bytes -------------------------------------------------------------- */

static enum kx_status put_buffer(struct typed_sink *sink,
                                 const struct typed *typed)
{
    struct kx_slice bytes;
    double most = 0;
    enum kx_status status =
        member_bytes(typed, typed->value, sink->memory, &bytes, sink->fault);
    if (status != KX_OK)
        return status;
    bool resizable = typed->most.size > 0;
    if (resizable && (!kx_number_parse(typed->most, &most) ||
                      !(most >= (double)bytes.size && most <= UINT32_MAX) ||
                      most != (double)(uint32_t)most))
        return bad(sink->fault, "maxByteLength is a whole number, at "
                                "least the number of bytes.");
    v8_put_tag(&sink->writer, resizable ? '~' : 'B');
    v8_put_varint(&sink->writer, (uint32_t)bytes.size);
    if (resizable)
        v8_put_varint(&sink->writer, (uint32_t)most);
    kx_add_slice(sink->writer.out, bytes);
    return KX_OK;
}

static enum kx_status put_view(struct typed_sink *sink,
                               const struct typed *typed)
{
    struct kx_slice bytes;
    uint8_t type = view_type(typed->type);
    enum kx_status status =
        member_bytes(typed, typed->value, sink->memory, &bytes, sink->fault);
    if (status != KX_OK)
        return status;
    if (bytes.size % v8_element_size(type) != 0)
        return bad(sink->fault,
                   "The bytes of a typed array are whole elements.");
    v8_put_view(&sink->writer, type, bytes);
    return KX_OK;
}

/* Writes a value of one type. KX_OK, KX_BAD_VALUE, KX_NO_MEMORY. */
typedef enum kx_status put_typed_fn(struct typed_sink *sink,
                                    const struct typed *typed);

/* Writes a value of any type; as put_typed_fn. */
typedef enum kx_status put_fn(struct typed_sink *sink, struct kx_slice json);

static put_fn put;

/* ---- Containers --------------------------------------------------------- */

static enum kx_status put_object(struct typed_sink *sink,
                                 const struct typed *typed)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice child;
    uint32_t count = 0;
    if (!kx_json_iterate(typed->value, &iter) || !iter.object)
        return bad(sink->fault, "The value of an object is an object.");
    v8_put_tag(&sink->writer, 'o');
    for (; kx_json_next(&iter, &name, &child); count++) {
        v8_encode_name(&sink->writer, name);
        enum kx_status status = put(sink, child);
        if (status != KX_OK)
            return status;
    }
    v8_put_tag(&sink->writer, '{');
    v8_put_varint(&sink->writer, count);
    return KX_OK;
}

static enum kx_status iterate_array(struct typed_sink *sink,
                                    struct kx_slice json,
                                    struct kx_json_iter *iter_out)
{
    if (kx_json_iterate(json, iter_out) && !iter_out->object)
        return KX_OK;
    return bad(sink->fault, "The value of an Array, a Map or a Set "
                            "is an array.");
}

static bool is_hole(struct kx_slice json)
{
    struct typed typed;
    return typed_members(json, &typed, NULL) == KX_OK &&
           kx_equal(typed.type, kx_text("hole"));
}

/* The number of missing elements. */
static uint32_t count_holes(struct kx_json_iter iter)
{
    struct kx_slice none;
    struct kx_slice child;
    uint32_t holes = 0;
    while (kx_json_next(&iter, &none, &child))
        holes += is_hole(child);
    return holes;
}

/* An array with holes is written as V8 does: as a sparse array, each element
 * with its index. */
static enum kx_status put_array(struct typed_sink *sink,
                                const struct typed *typed)
{
    struct v8_writer *writer = &sink->writer;
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice child;
    enum kx_status status = iterate_array(sink, typed->value, &iter);
    if (status != KX_OK)
        return status;
    uint32_t length = v8_count(typed->value);
    uint32_t holes = count_holes(iter);
    v8_put_tag(writer, holes > 0 ? 'a' : 'A');
    v8_put_varint(writer, length);
    for (uint32_t i = 0; kx_json_next(&iter, &none, &child); i++) {
        if (holes > 0 && is_hole(child))
            continue;
        if (holes > 0)
            v8_put_number(writer, i);
        status = put(sink, child);
        if (status != KX_OK)
            return status;
    }
    v8_put_tag(writer, holes > 0 ? '@' : '$');
    v8_put_varint(writer, holes > 0 ? length - holes : 0);
    v8_put_varint(writer, length);
    return KX_OK;
}

static enum kx_status put_pair(struct typed_sink *sink, struct kx_slice pair)
{
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice child;
    if (!kx_json_iterate(pair, &iter) || iter.object || v8_count(pair) != 2)
        return bad(sink->fault, "The value of a Map is an array of pairs.");
    enum kx_status status = KX_OK;
    while (status == KX_OK && kx_json_next(&iter, &none, &child))
        status = put(sink, child);
    return status;
}

/* Writes the elements of an array between two tags; each element becomes
 * `values` values. */
static enum kx_status put_members(struct typed_sink *sink,
                                  struct kx_slice array, const char *tags,
                                  put_fn *put_member, uint32_t values)
{
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice child;
    uint32_t count = 0;
    enum kx_status status = iterate_array(sink, array, &iter);
    v8_put_tag(&sink->writer, tags[0]);
    while (status == KX_OK && kx_json_next(&iter, &none, &child)) {
        status = put_member(sink, child);
        count += values;
    }
    v8_put_tag(&sink->writer, tags[1]);
    v8_put_varint(&sink->writer, count);
    return status;
}

static enum kx_status put_set(struct typed_sink *sink,
                              const struct typed *typed)
{
    return put_members(sink, typed->value, "',", put, 1);
}

static enum kx_status put_map(struct typed_sink *sink,
                              const struct typed *typed)
{
    return put_members(sink, typed->value, ";:", put_pair, 2);
}

/* ---- Errors ------------------------------------------------------------- */

static enum kx_status put_field(struct typed_sink *sink, char tag,
                                struct kx_slice json)
{
    if (json.size == 0)
        return KX_OK;
    if (tag != 'c' && kx_json_type(json) != KX_JSON_STRING)
        return bad(sink->fault, "message and stack are strings.");
    v8_put_tag(&sink->writer, tag);
    if (tag == 'c')
        return put(sink, json);
    v8_encode_string(&sink->writer, json);
    return KX_OK;
}

/* V8 expects message, stack and cause in this order; in JSON the order is
 * free. */
static enum kx_status put_error(struct typed_sink *sink,
                                const struct typed *typed)
{
    static const char *const names[] = {"\"message\"", "\"stack\"",
                                        "\"cause\""};
    struct kx_slice fields[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice child;
    uint8_t letter = 0;
    if (!kx_json_iterate(typed->value, &iter) || !iter.object)
        return bad(sink->fault, "The value of an Error is an object.");
    while (kx_json_next(&iter, &name, &child)) {
        size_t i = 0;
        while (i < 3 && !kx_equal(name, kx_text(names[i])))
            i++;
        if (i == 3)
            return bad(sink->fault, "An Error has message, stack and cause.");
        fields[i] = child;
    }
    error_letter(typed->type, &letter);
    v8_put_tag(&sink->writer, 'r');
    kx_add(sink->writer.out, &letter, letter != 0);
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < 3; i++)
        status = put_field(sink, "msc"[i], fields[i]);
    v8_put_tag(&sink->writer, '.');
    return status;
}

/* ---- Any type ---------------------------------------------------------- */

static const struct type {
    const char *name;
    put_typed_fn *put;
} TYPES[] = {
    {"string", put_scalar},
    {"number", put_scalar},
    {"boolean", put_scalar},
    {"null", put_scalar},
    {"undefined", put_undefined},
    {"bigint", put_bigint},
    {"Date", put_date},
    {"RegExp", put_regexp},
    {"ArrayBuffer", put_buffer},
    {"object", put_object},
    {"Array", put_array},
    {"Map", put_map},
    {"Set", put_set},
};

static put_typed_fn *find(struct kx_slice type)
{
    uint8_t letter;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (kx_equal(type, kx_text(TYPES[i].name)))
            return TYPES[i].put;
    if (view_type(type) != 0)
        return put_view;
    return error_letter(type, &letter) ? put_error : NULL;
}

static enum kx_status put(struct typed_sink *sink, struct kx_slice json)
{
    struct typed typed;
    enum kx_status status = typed_members(json, &typed, sink->fault);
    if (status != KX_OK)
        return status;
    put_typed_fn *put_type = find(typed.type);
    if (put_type != NULL)
        return put_type(sink, &typed);
    return kx_fail(sink->fault, KX_BAD_VALUE,
                   "The type %.*s is unknown; the types are string, number, "
                   "boolean, null, undefined, bigint, Date, RegExp, Array, "
                   "object, Map, Set, ArrayBuffer, DataView, the typed arrays "
                   "and the errors, and KvU64 as a whole value.",
                   kx_excerpt_size(typed.type), (const char *)typed.type.data);
}

/* Appends a typed value as V8. KX_OK, KX_BAD_VALUE, KX_NO_MEMORY; on errors out
 * may have additional bytes. Scratch is allocated under its owner. */
static enum kx_status to_v8(struct kx_slice json, struct kx_buffer *out,
                            struct kx_fault *fault)
{
    struct typed_sink sink = {.memory = talloc_new(out->owner), .fault = fault};
    if (sink.memory == NULL)
        return KX_NO_MEMORY;
    v8_begin(&sink.writer, out);
    enum kx_status status = put(&sink, json);
    talloc_free(sink.memory);
    return status;
}

/* ---- Values that are not JSON ------------------------------------------- */

/* A KvU64 is a string, because most readers lose digits of JSON numbers above
 * 2^53. */
static bool parse_u64(struct kx_slice digits, uint64_t *number_out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < digits.size; i++) {
        unsigned digit = digits.data[i] - (unsigned)'0';
        if (digit > 9 || __builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, digit, &number))
            return false;
    }
    *number_out = number;
    return digits.size > 0 && digits.size <= 20;
}

static enum kx_status read_u64(const struct typed *typed, const void *memory,
                               struct kx_value *value_out,
                               struct kx_fault *fault)
{
    struct kx_slice digits = {0};
    struct kx_buffer bytes;
    uint64_t number;
    enum kx_status status = member_text(typed->value, memory, &digits, fault);
    if (status != KX_OK)
        return status;
    if (!parse_u64(digits, &number))
        return bad(fault, "The value of a KvU64 is a string of decimal "
                          "digits, at most \"18446744073709551615\".");
    kx_buffer_init(&bytes, memory);
    for (unsigned i = 0; i < 8; i++)
        kx_add_byte(&bytes, (uint8_t)(number >> (8 * i)));
    *value_out =
        (struct kx_value){.encoding = KX_LE64, .data = kx_buffer_slice(&bytes)};
    return bytes.failed ? KX_NO_MEMORY : KX_OK;
}

static enum kx_status read_media_type(const struct typed *typed,
                                      const void *memory, struct kx_slice *out,
                                      struct kx_fault *fault)
{
    *out = kx_text("application/octet-stream");
    if (typed->media_type.size == 0)
        return KX_OK;
    enum kx_status status = member_text(typed->media_type, memory, out, fault);
    if (status != KX_OK)
        return status;
    for (size_t i = 0; i < out->size; i++)
        if (out->data[i] < 0x20 || out->data[i] > 0x7e)
            out->size = 0;
    if (out->size == 0 || out->size > KX_MEDIA_TYPE_MAX)
        return bad(fault, "mediaType has 1 to 127 printable ASCII "
                          "characters.");
    return KX_OK;
}

static enum kx_status read_bytes(const struct typed *typed, const void *memory,
                                 struct kx_value *value_out,
                                 struct kx_fault *fault)
{
    *value_out = (struct kx_value){.encoding = KX_BYTES};
    enum kx_status status =
        read_media_type(typed, memory, &value_out->media_type, fault);
    if (status == KX_OK)
        status =
            member_bytes(typed, typed->value, memory, &value_out->data, fault);
    return status;
}

/* Reads the bytes of a V8 value, the form for values that no other form can
 * express. */
static enum kx_status read_v8(const struct typed *typed, const void *memory,
                              struct kx_value *value_out,
                              struct kx_fault *fault)
{
    *value_out = (struct kx_value){.encoding = KX_V8};
    enum kx_status status =
        member_bytes(typed, typed->value, memory, &value_out->data, fault);
    return status != KX_OK ? status
                           : kx_v8_check(value_out->data, memory, fault);
}

/* ---- Values that JSON can carry -----------------------------------------
 * If JSON can carry the whole value, it becomes JSON, in which scalars keep
 * their bytes; otherwise it becomes V8. */

static bool add_plain(struct kx_slice json, struct kx_buffer *out);

static bool add_children(struct kx_slice value, bool object,
                         struct kx_buffer *out)
{
    const char *brackets = object ? "{}" : "[]";
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice child;
    if (!kx_json_iterate(value, &iter) || iter.object != object)
        return false;
    kx_add_byte(out, (uint8_t)brackets[0]);
    for (size_t i = 0; kx_json_next(&iter, &name, &child); i++) {
        kx_add(out, ",", i > 0);
        kx_add_slice(out, name);
        kx_add(out, ":", object);
        if (!add_plain(child, out))
            return false;
    }
    kx_add_byte(out, (uint8_t)brackets[1]);
    return true;
}

/* Appends a typed value as plain JSON; false if JSON cannot carry it. Also
 * false for anything that is not a typed value, for which to_v8 then
 * gives the error. */
static bool add_plain(struct kx_slice json, struct kx_buffer *out)
{
    struct typed typed;
    if (typed_members(json, &typed, NULL) != KX_OK)
        return false;
    if (kx_equal(typed.type, kx_text("Array")))
        return add_children(typed.value, false, out);
    if (kx_equal(typed.type, kx_text("object")))
        return add_children(typed.value, true, out);
    kx_add_slice(out, typed.value);
    return is_plain_scalar(&typed);
}

enum kx_status kx_value_from_typed(struct kx_slice json, const void *memory,
                                   struct kx_value *value_out,
                                   struct kx_fault *fault)
{
    struct typed typed;
    struct kx_buffer text;
    enum kx_status status = typed_members(json, &typed, fault);
    if (status != KX_OK)
        return status;
    if (kx_equal(typed.type, kx_text("KvU64")))
        return read_u64(&typed, memory, value_out, fault);
    if (kx_equal(typed.type, kx_text("Uint8Array")))
        return read_bytes(&typed, memory, value_out, fault);
    if (kx_equal(typed.type, kx_text("V8")))
        return read_v8(&typed, memory, value_out, fault);
    kx_buffer_init(&text, memory);
    *value_out = (struct kx_value){.encoding = KX_JSON};
    if (!add_plain(json, &text)) {
        value_out->encoding = KX_V8;
        text.size = 0;
        status = to_v8(json, &text, fault);
    }
    value_out->data = kx_buffer_slice(&text);
    return text.failed ? KX_NO_MEMORY : status;
}
