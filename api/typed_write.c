/* Values to JSON: as they are, or typed. The counterpart of typed.c: what is
 * written here can be sent back as it is, but for V8 values and pointers, which
 * clients cannot write. */
#include "typed.h"

#include <stdio.h>

static bool part_is_plain(const struct kx_part *part)
{
    switch (part->type) {
    case KX_STRING:
    case KX_BOOLEAN:
        return true;
    case KX_NUMBER:
        return kx_number_special_name(part->number) == NULL;
    case KX_BIGINT:
    case KX_BYTES_PART:
        return false;
    }
    return false;
}

/* Of a pointer: JSON shows strings, booleans and finite numbers by
 * themselves. */
static bool parts_are_plain(struct kx_slice parts)
{
    struct kx_key_reader reader;
    struct kx_part part;
    kx_key_read(&reader, parts);
    while (kx_key_next(&reader, &part) == KX_OK)
        if (!part_is_plain(&part))
            return false;
    return true;
}

bool typed_is_plain(const struct kx_value *value)
{
    switch (value->encoding) {
    case KX_JSON:
        return true;
    case KX_POINTER:
        return parts_are_plain(value->data);
    case KX_V8:
    case KX_LE64:
    case KX_BYTES:
        return false;
    }
    return false;
}

static void write_u64(struct kx_slice bytes, struct kx_buffer *out)
{
    char digits[24];
    uint64_t number = 0;
    for (size_t i = bytes.size; i > 0; i--)
        number = number << 8 | bytes.data[i - 1];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    kx_add_text(out, "{\"type\":\"KvU64\",\"value\":\"");
    kx_add_text(out, digits);
    kx_add_text(out, "\"}");
}

/* The default media type is left out, as Deno knows none. */
static void write_bytes(const struct kx_value *value, const char *type,
                        struct kx_buffer *out)
{
    char length[24];
    snprintf(length, sizeof length, "%zu", value->data.size);
    kx_add_text(out, "{\"type\":\"");
    kx_add_text(out, type);
    kx_add_text(out, "\",\"value\":\"");
    kx_base64_write(value->data, out);
    kx_add_text(out, "\",\"byteLength\":");
    kx_add_text(out, length);
    if (value->media_type.size > 0 &&
        !kx_equal(value->media_type, kx_text("application/octet-stream"))) {
        kx_add_text(out, ",\"mediaType\":");
        kx_json_escape(value->media_type, out);
    }
    kx_add_byte(out, '}');
}

/* The parts of a key in kv-utils' own form, in which every part is wrapped. */
static void write_typed_part(const struct kx_part *part, struct kx_buffer *out)
{
    if (!part_is_plain(part)) {
        kx_part_to_json(part, out);
        return;
    }
    kx_add_text(out, "{\"type\":\"");
    if (part->type == KX_STRING)
        kx_add_text(out, "string");
    else
        kx_add_text(out, part->type == KX_NUMBER ? "number" : "boolean");
    kx_add_text(out, "\",\"value\":");
    kx_part_to_json(part, out);
    kx_add_byte(out, '}');
}

static void write_typed_parts(struct kx_slice parts, struct kx_buffer *out)
{
    struct kx_key_reader reader;
    struct kx_part part;
    kx_key_read(&reader, parts);
    kx_add_text(out, "{\"type\":\"Array\",\"value\":[");
    for (bool first = true; kx_key_next(&reader, &part) == KX_OK;
         first = false) {
        if (!first)
            kx_add_byte(out, ',');
        write_typed_part(&part, out);
    }
    kx_add_text(out, "]}");
}

/* A pointer is shown as the part it holds, or the array of its parts. */
static void write_pointer(struct kx_slice parts, struct kx_buffer *out)
{
    struct kx_key_reader reader;
    struct kx_part part;
    bool plain = parts_are_plain(parts);
    if (kx_part_size(parts) != parts.size) {
        if (plain)
            kx_key_to_json(parts, out);
        else
            write_typed_parts(parts, out);
        return;
    }
    kx_key_read(&reader, parts);
    if (kx_key_next(&reader, &part) == KX_OK)
        kx_part_to_json(&part, out);
}

void typed_write(const struct kx_value *value, struct kx_buffer *out)
{
    switch (value->encoding) {
    case KX_JSON:
        kx_add_slice(out, value->data);
        break;
    case KX_LE64:
        write_u64(value->data, out);
        break;
    case KX_BYTES:
        write_bytes(value, "Uint8Array", out);
        break;
    case KX_V8:
        write_bytes(value, "V8", out);
        break;
    case KX_POINTER:
        write_pointer(value->data, out);
        break;
    }
}
