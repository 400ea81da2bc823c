/* Typed values, to the store's encodings. KvU64 and Uint8Array have encodings
 * of their own; the other types are taken apart until only JSON is left, whose
 * scalars are copied as they were written. */
#include "typed.h"

enum { U64_DIGITS_MAX = 20, SHOWN = 40 };

static bool bad(struct flaw *flaw, const char *detail)
{
    return flaw_set(flaw, PROBLEM_BAD_VALUE, "%s", detail);
}

/* The members of {"type","value",...} as raw values; size 0 when absent. */
struct typed {
    struct kx_slice type;
    struct kx_slice value;
    struct kx_slice length;
    struct kx_slice media_type;
};

/* Where a member goes; NULL for a name that a typed value does not have. */
static struct kx_slice *member_of(struct typed *typed, struct kx_slice name)
{
    if (kx_equal(name, kx_text("\"type\"")))
        return &typed->type;
    if (kx_equal(name, kx_text("\"value\"")))
        return &typed->value;
    if (kx_equal(name, kx_text("\"byteLength\"")))
        return &typed->length;
    return kx_equal(name, kx_text("\"mediaType\"")) ? &typed->media_type : NULL;
}

static bool read_members(struct kx_slice json, struct typed *out,
                         struct flaw *flaw)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    *out = (struct typed){0};
    if (!kx_json_iterate(json, &iter) || !iter.object)
        return bad(flaw, "A typed value is an object "
                         "{\"type\":...,\"value\":...}.");
    while (kx_json_next(&iter, &name, &value)) {
        struct kx_slice *member = member_of(out, name);
        if (member == NULL)
            return flaw_set(
                flaw, PROBLEM_BAD_VALUE, "A typed value has no member %.*s.",
                (int)(name.size < SHOWN ? name.size : SHOWN), name.data);
        *member = value;
    }
    if (out->type.size == 0 || kx_json_type(out->type) != KX_JSON_STRING)
        return bad(flaw, "A typed value has a text member type.");
    return out->value.size > 0 ||
           bad(flaw, "A typed value has a member value.");
}

/* The characters of a text member, in memory. */
static bool read_text(struct kx_slice token, const void *memory,
                      struct kx_slice *text_out, struct flaw *flaw)
{
    struct kx_buffer text;
    if (kx_json_type(token) != KX_JSON_STRING)
        return bad(flaw, "value and mediaType are texts here.");
    kx_buffer_init(&text, memory);
    kx_json_unescape(token, &text);
    *text_out = kx_buffer_slice(&text);
    return !text.failed || flaw_no_memory(flaw);
}

/* A text, because a JSON number loses digits over 2^53 in most readers. */
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
    return digits.size > 0 && digits.size <= U64_DIGITS_MAX;
}

static bool read_u64(const struct typed *typed, const void *memory,
                     struct kx_value *value_out, struct flaw *flaw)
{
    struct kx_slice digits;
    struct kx_buffer bytes;
    uint64_t number;
    if (!read_text(typed->value, memory, &digits, flaw))
        return false;
    if (!parse_u64(digits, &number))
        return bad(flaw, "The value of a KvU64 is a text of decimal digits, "
                         "at most \"18446744073709551615\".");
    kx_buffer_init(&bytes, memory);
    for (unsigned i = 0; i < 8; i++)
        kx_add_byte(&bytes, (uint8_t)(number >> (8 * i)));
    *value_out =
        (struct kx_value){.encoding = KX_LE64, .data = kx_buffer_slice(&bytes)};
    return !bytes.failed || flaw_no_memory(flaw);
}

static bool read_media_type(const struct typed *typed, const void *memory,
                            struct kx_slice *out, struct flaw *flaw)
{
    *out = kx_text("application/octet-stream");
    if (typed->media_type.size == 0)
        return true;
    if (!read_text(typed->media_type, memory, out, flaw))
        return false;
    for (size_t i = 0; i < out->size; i++)
        if (out->data[i] < 0x20 || out->data[i] > 0x7e)
            out->size = 0;
    return (out->size > 0 && out->size <= KX_MEDIA_TYPE_MAX) ||
           bad(flaw, "mediaType has 1 to 127 printable ASCII characters.");
}

/* byteLength is what kv-utils writes along; where it is there it must be
 * right. */
static bool read_bytes(const struct typed *typed, const void *memory,
                       struct kx_value *value_out, struct flaw *flaw)
{
    struct kx_slice text;
    struct kx_slice media_type;
    struct kx_buffer bytes;
    double length;
    if (!read_text(typed->value, memory, &text, flaw) ||
        !read_media_type(typed, memory, &media_type, flaw))
        return false;
    kx_buffer_init(&bytes, memory);
    if (!kx_base64_read(text, &bytes))
        return bad(flaw, "The value of a Uint8Array is base64url without "
                         "padding.");
    if (bytes.failed)
        return flaw_no_memory(flaw);
    if (typed->length.size != 0 && (!kx_number_parse(typed->length, &length) ||
                                    length != (double)bytes.size))
        return bad(flaw, "byteLength is not the number of bytes in value.");
    *value_out = (struct kx_value){.encoding = KX_BYTES,
                                   .data = kx_buffer_slice(&bytes),
                                   .media_type = media_type};
    return true;
}

static bool add_plain(struct kx_slice json, struct kx_buffer *out,
                      struct flaw *flaw);

/* Array and object: each child is typed in its turn. kx_json_check has
 * bounded the depth. */
static bool add_children(struct kx_slice value, bool object,
                         struct kx_buffer *out, struct flaw *flaw)
{
    const char *brackets = object ? "{}" : "[]";
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice child;
    if (!kx_json_iterate(value, &iter) || iter.object != object)
        return bad(flaw, object ? "The value of an object is an object."
                                : "The value of an Array is an array.");
    kx_add_byte(out, (uint8_t)brackets[0]);
    for (size_t i = 0; kx_json_next(&iter, &name, &child); i++) {
        kx_add(out, ",", i > 0);
        kx_add_slice(out, name);
        kx_add(out, ":", object);
        if (!add_plain(child, out, flaw))
            return false;
    }
    kx_add_byte(out, (uint8_t)brackets[1]);
    return true;
}

static const struct scalar {
    const char *type;
    enum kx_json_type json;
} SCALARS[] = {
    {"\"string\"", KX_JSON_STRING},
    {"\"number\"", KX_JSON_NUMBER},
    {"\"null\"", KX_JSON_NULL},
};

static bool is_scalar(const struct typed *typed)
{
    enum kx_json_type type = kx_json_type(typed->value);
    for (size_t i = 0; i < sizeof SCALARS / sizeof *SCALARS; i++)
        if (kx_equal(typed->type, kx_text(SCALARS[i].type)))
            return type == SCALARS[i].json;
    return kx_equal(typed->type, kx_text("\"boolean\"")) &&
           (type == KX_JSON_TRUE || type == KX_JSON_FALSE);
}

static bool add_plain(struct kx_slice json, struct kx_buffer *out,
                      struct flaw *flaw)
{
    struct typed typed;
    if (!read_members(json, &typed, flaw))
        return false;
    if (kx_equal(typed.type, kx_text("\"Array\"")))
        return add_children(typed.value, false, out, flaw);
    if (kx_equal(typed.type, kx_text("\"object\"")))
        return add_children(typed.value, true, out, flaw);
    if (!is_scalar(&typed))
        return flaw_set(
            flaw, PROBLEM_BAD_VALUE,
            "A value of type %.*s cannot be stored here; there "
            "are string, number (finite), boolean, null, Array "
            "and object, and KvU64 and Uint8Array as a whole "
            "value.",
            (int)(typed.type.size < SHOWN ? typed.type.size : SHOWN),
            typed.type.data);
    kx_add_slice(out, typed.value);
    return true;
}

bool typed_read(struct kx_slice json, const void *memory,
                struct kx_value *value_out, struct flaw *flaw)
{
    struct typed typed;
    struct kx_buffer text;
    if (!read_members(json, &typed, flaw))
        return false;
    if (kx_equal(typed.type, kx_text("\"KvU64\"")))
        return read_u64(&typed, memory, value_out, flaw);
    if (kx_equal(typed.type, kx_text("\"Uint8Array\"")))
        return read_bytes(&typed, memory, value_out, flaw);
    kx_buffer_init(&text, memory);
    if (!add_plain(json, &text, flaw))
        return false;
    *value_out =
        (struct kx_value){.encoding = KX_JSON, .data = kx_buffer_slice(&text)};
    return !text.failed || flaw_no_memory(flaw);
}
