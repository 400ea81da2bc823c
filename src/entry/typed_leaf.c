/* Conversion of typed values without children to V8. */
#include <math.h>

#include "entry/typed_put.h"
#include "v8/v8_bigint.h"
#include "v8/v8_date.h"
#include "v8/v8_encode.h"
#include "v8/v8_scalar.h"
#include "entry/v8_typed.h"

/* ---- Scalars ------------------------------------------------------------ */

enum kx_status typed_put_undefined(struct typed_sink *sink,
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
        typed_bytes(typed, typed->utf16, sink->memory, &bytes, sink->fault);
    if (status != KX_OK)
        return status;
    if (bytes.size % 2 != 0 || kx_json_type(typed->value) != KX_JSON_STRING)
        return typed_bad(
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
        typed_text(typed->value, sink->memory, &name, sink->fault);
    if (status != KX_OK)
        return status;
    /* The parts of a pointer are parts of keys. */
    if (!kx_key_number_special(name, &number))
        return typed_bad(sink->fault,
                         "The value of a number is a number, \"NaN\", "
                         "\"Infinity\", \"-Infinity\" or \"-0\".");
    v8_put_number(&sink->writer, number);
    return KX_OK;
}

enum kx_status typed_put_scalar(struct typed_sink *sink,
                                const struct typed *typed)
{
    if (typed_is_scalar(typed)) {
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

enum kx_status typed_put_bigint(struct typed_sink *sink,
                                const struct typed *typed)
{
    struct kx_slice digits;
    struct kx_buffer bytes;
    struct v8_bigint number;
    enum kx_status status =
        typed_text(typed->value, sink->memory, &digits, sink->fault);
    if (status != KX_OK)
        return status;
    kx_buffer_init(&bytes, sink->memory);
    if (!v8_bigint_read(digits, &bytes, &number))
        return typed_bad(sink->fault,
                         "The value of a bigint is a string of an optional '-' "
                         "and decimal digits, for at most 4096 bytes.");
    v8_put_bigint(&sink->writer, number.bytes, number.negative);
    return bytes.failed ? KX_NO_MEMORY : KX_OK;
}

_Static_assert(KX_V8_BIGINT_MAX == 4096, "the sentence says 4096");

/* kv-utils writes an invalid date as null. */
enum kx_status typed_put_date(struct typed_sink *sink,
                              const struct typed *typed)
{
    struct kx_slice text;
    double time = NAN;
    if (kx_json_type(typed->value) != KX_JSON_NULL) {
        enum kx_status status =
            typed_text(typed->value, sink->memory, &text, sink->fault);
        if (status != KX_OK)
            return status;
        if (!v8_date_read(text, &time))
            return typed_bad(sink->fault,
                             "The value of a Date is a string such as "
                             "\"2023-04-23T00:00:00.123Z\".");
    }
    v8_put_double(&sink->writer, 'D', time);
    return KX_OK;
}

static bool read_flags(struct kx_slice letters, uint32_t *flags_out)
{
    uint32_t flags = 0;
    for (size_t i = 0; i < letters.size; i++) {
        const char *flag = memchr(v8_flags, letters.data[i], strlen(v8_flags));
        if (flag == NULL || *flag == '?')
            return false;
        uint32_t bit = 1u << (flag - v8_flags);
        if ((flags & bit) != 0)
            return false;
        flags |= bit;
    }
    *flags_out = flags;
    return true;
}

/* The flags follow the last slash. */
enum kx_status typed_put_regexp(struct typed_sink *sink,
                                const struct typed *typed)
{
    struct kx_slice text;
    uint32_t flags;
    enum kx_status status =
        typed_text(typed->value, sink->memory, &text, sink->fault);
    if (status != KX_OK)
        return status;
    const uint8_t *last =
        text.size == 0 ? NULL : memrchr(text.data, '/', text.size);
    size_t end = last == NULL ? 0 : (size_t)(last - text.data);
    if (end == 0 || text.data[0] != '/' ||
        !read_flags(kx_slice(last + 1, text.size - end - 1), &flags))
        return typed_bad(
            sink->fault,
            "The value of a RegExp is a string such as \"/source/dgimsuvy\".");
    v8_put_tag(&sink->writer, 'R');
    v8_put_string(&sink->writer, kx_slice(text.data + 1, end - 1));
    v8_put_varint(&sink->writer, flags);
    return KX_OK;
}

/* ---- Bytes -------------------------------------------------------------- */

enum kx_status typed_put_buffer(struct typed_sink *sink,
                                const struct typed *typed)
{
    struct kx_slice bytes;
    double most = 0;
    enum kx_status status =
        typed_bytes(typed, typed->value, sink->memory, &bytes, sink->fault);
    if (status != KX_OK)
        return status;
    bool resizable = typed->most.size > 0;
    if (resizable && (!kx_number_parse(typed->most, &most) ||
                      !(most >= (double)bytes.size && most <= UINT32_MAX) ||
                      most != (double)(uint32_t)most))
        return typed_bad(sink->fault, "maxByteLength is a whole number, at "
                                      "least the number of bytes.");
    v8_put_tag(&sink->writer, resizable ? '~' : 'B');
    v8_put_varint(&sink->writer, (uint32_t)bytes.size);
    if (resizable)
        v8_put_varint(&sink->writer, (uint32_t)most);
    v8_put_bytes(&sink->writer, bytes);
    return KX_OK;
}

enum kx_status typed_put_view(struct typed_sink *sink,
                              const struct typed *typed)
{
    struct kx_slice bytes;
    uint8_t type = v8_view_type(typed->type);
    enum kx_status status =
        typed_bytes(typed, typed->value, sink->memory, &bytes, sink->fault);
    if (status != KX_OK)
        return status;
    if (bytes.size % v8_element_size(type) != 0)
        return typed_bad(sink->fault,
                         "The bytes of a typed array are whole elements.");
    v8_put_view(&sink->writer, type, bytes);
    return KX_OK;
}
