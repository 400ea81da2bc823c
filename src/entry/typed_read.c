/* Reads the typed form into values. If JSON can carry the whole value, it
 * becomes JSON, in which scalars keep their bytes; otherwise it becomes V8. The
 * recursion is as deep as the text, at most KX_JSON_DEPTH_MAX. */
#include "entry/typed_read.h"

enum kx_status typed_bad(struct kx_fault *fault, const char *detail)
{
    return kx_fail(fault, KX_BAD_VALUE, "%s", detail);
}

/* ---- Members ------------------------------------------------------------ */

static const struct member {
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
        return typed_bad(fault, "A typed value is an object "
                                "{\"type\":...,\"value\":...}.");
    while (kx_json_next(&iter, &name, &value)) {
        struct kx_slice *member = member_of(out, name);
        if (member == NULL)
            return kx_fail(fault, KX_BAD_VALUE,
                           "A typed value has no member %.*s.", kx_shown(name),
                           (const char *)name.data);
        *member = value;
    }
    if (out->type.size == 0 || kx_json_type(out->type) != KX_JSON_STRING)
        return typed_bad(fault, "A typed value has a text member type.");
    out->type = kx_slice(out->type.data + 1, out->type.size - 2);
    if (out->value.size == 0 && !has_no_value(out))
        return typed_bad(fault, "A typed value has a member value.");
    return KX_OK;
}

enum kx_status typed_text(struct kx_slice token, const void *memory,
                          struct kx_slice *text_out, struct kx_fault *fault)
{
    struct kx_buffer text;
    if (token.size == 0 || kx_json_type(token) != KX_JSON_STRING)
        return typed_bad(fault, "value, mediaType and utf16 are texts here.");
    kx_buffer_init(&text, memory);
    kx_json_unescape(token, &text);
    *text_out = kx_buffer_slice(&text);
    return text.failed ? KX_NO_MEMORY : KX_OK;
}

/* kv-utils also writes byteLength. It is optional, but must be correct. */
enum kx_status typed_bytes(const struct typed *typed, struct kx_slice token,
                           const void *memory, struct kx_slice *bytes_out,
                           struct kx_fault *fault)
{
    struct kx_slice text = {0};
    struct kx_buffer bytes;
    double length = 0;
    enum kx_status status = typed_text(token, memory, &text, fault);
    if (status != KX_OK)
        return status;
    kx_buffer_init(&bytes, memory);
    if (!kx_base64_read(text, &bytes))
        return typed_bad(fault, "Bytes are written in base64url without "
                                "padding.");
    if (bytes.failed)
        return KX_NO_MEMORY;
    if (typed->length.size != 0 && (!kx_number_parse(typed->length, &length) ||
                                    length != (double)bytes.size))
        return typed_bad(fault,
                         "byteLength is not the number of bytes in value.");
    *bytes_out = kx_buffer_slice(&bytes);
    return KX_OK;
}

/* ---- Values with an encoding of their own ------------------------------- */

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
    enum kx_status status = typed_text(typed->value, memory, &digits, fault);
    if (status != KX_OK)
        return status;
    if (!parse_u64(digits, &number))
        return typed_bad(fault, "The value of a KvU64 is a text of decimal "
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
    enum kx_status status = typed_text(typed->media_type, memory, out, fault);
    if (status != KX_OK)
        return status;
    for (size_t i = 0; i < out->size; i++)
        if (out->data[i] < 0x20 || out->data[i] > 0x7e)
            out->size = 0;
    if (out->size == 0 || out->size > KX_MEDIA_TYPE_MAX)
        return typed_bad(fault, "mediaType has 1 to 127 printable ASCII "
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
            typed_bytes(typed, typed->value, memory, &value_out->data, fault);
    return status;
}

/* Reads the bytes of a V8 value, the form of values that have no other. */
static enum kx_status read_v8(const struct typed *typed, const void *memory,
                              struct kx_value *value_out,
                              struct kx_fault *fault)
{
    *value_out = (struct kx_value){.encoding = KX_V8};
    enum kx_status status =
        typed_bytes(typed, typed->value, memory, &value_out->data, fault);
    return status != KX_OK ? status
                           : kx_v8_check(value_out->data, memory, fault);
}

/* ---- Values that JSON can carry ----------------------------------------- */

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

bool typed_is_scalar(const struct typed *typed)
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

/* Appends a typed value as plain JSON; false if JSON cannot carry it. Also
 * false for anything that is not a typed value, for which typed_to_v8 then
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
    return typed_is_scalar(&typed);
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
        status = typed_to_v8(json, &text, fault);
    }
    value_out->data = kx_buffer_slice(&text);
    return text.failed ? KX_NO_MEMORY : status;
}
