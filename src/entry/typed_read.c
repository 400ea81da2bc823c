/* Reads the typed form into values. If JSON can carry the whole value, it
 * becomes JSON, in which scalars keep their bytes; otherwise it becomes V8. The
 * recursion is as deep as the text, at most KX_JSON_DEPTH_MAX. */
#include "entry/typed_members.h"
#include "entry/typed_v8.h"

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
    enum kx_status status = typed_text(typed->value, memory, &digits, fault);
    if (status != KX_OK)
        return status;
    if (!parse_u64(digits, &number))
        return typed_bad(fault, "The value of a KvU64 is a string of decimal "
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
