/* The members of typed values: their names, and the text or bytes that they
 * hold. */
#include "entry/typed_members.h"

enum kx_status typed_bad(struct kx_fault *fault, const char *detail)
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
        return typed_bad(fault, "A typed value is an object "
                                "{\"type\":...,\"value\":...}.");
    while (kx_json_next(&iter, &name, &value)) {
        struct kx_slice *member = member_of(out, name);
        if (member == NULL)
            return kx_fail(fault, KX_BAD_VALUE,
                           "A typed value does not have the member %.*s.",
                           kx_shown(name), (const char *)name.data);
        *member = value;
    }
    if (out->type.size == 0 || kx_json_type(out->type) != KX_JSON_STRING)
        return typed_bad(fault,
                         "The member type of a typed value is a string.");
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
        return typed_bad(fault, "value, mediaType and utf16 are strings here.");
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
