/* Values as JSON, and as a JavaScript program reads them. A value is plain JSON
 * if JSON can carry it, otherwise it is in the typed form. */
#include <stdio.h>

#include "v8/v8_writer.h"
#include "v8/v8_normalize.h"
#include "entry/typed.h"

/* ---- Pointers ----------------------------------------------------------- */

static bool part_is_plain(const struct kx_part *part)
{
    if (part->type == KX_NUMBER)
        return kx_number_special_name(part->number) == NULL;
    return part->type == KX_STRING || part->type == KX_BOOLEAN;
}

/* True if plain JSON can show a pointer: all its parts are strings, booleans or
 * finite numbers. */
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

/* Writes a part in the form of kv-utils, in which every part is wrapped. */
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

/* A pointer is shown as its only part, or as the array of its parts. */
static bool write_pointer(struct kx_slice parts, struct kx_buffer *out)
{
    struct kx_key_reader reader;
    struct kx_part part;
    bool plain = parts_are_plain(parts);
    kx_key_read(&reader, parts);
    if (kx_part_size(parts) == parts.size) {
        if (kx_key_next(&reader, &part) == KX_OK)
            kx_part_to_json(&part, out);
    } else if (plain) {
        kx_key_to_json(parts, out);
    } else {
        write_typed_parts(parts, out);
    }
    return plain;
}

/* ---- To JSON ------------------------------------------------------------ */

static void write_u64(struct kx_slice bytes, struct kx_buffer *out)
{
    char text[64];
    uint64_t number = 0;
    for (size_t i = bytes.size; i > 0; i--)
        number = number << 8 | bytes.data[i - 1];
    snprintf(text, sizeof text, "{\"type\":\"KvU64\",\"value\":\"%llu\"}",
             (unsigned long long)number);
    kx_add_text(out, text);
}

/* The default media type is omitted, because Deno has no media types. */
static void write_bytes(const struct kx_value *value, const char *type,
                        struct kx_buffer *out)
{
    char length[40];
    snprintf(length, sizeof length, "\",\"byteLength\":%zu", value->data.size);
    kx_add_text(out, "{\"type\":\"");
    kx_add_text(out, type);
    kx_add_text(out, "\",\"value\":\"");
    kx_base64_write(value->data, out);
    kx_add_text(out, length);
    if (value->media_type.size > 0 &&
        !kx_equal(value->media_type, kx_text("application/octet-stream"))) {
        kx_add_text(out, ",\"mediaType\":");
        kx_json_escape(value->media_type, out);
    }
    kx_add_byte(out, '}');
}

/* A value that has no other form is shown as its bytes. */
static bool write_v8(const struct kx_value *value, struct kx_buffer *out)
{
    enum kx_status status = kx_v8_to_json(value->data, out);
    if (status == KX_ABSENT) {
        status = typed_write(value->data, out);
        if (status == KX_OK)
            return false;
    }
    if (status == KX_ABSENT || status == KX_BAD_VALUE)
        write_bytes(value, "V8", out);
    if (status == KX_NO_MEMORY)
        out->failed = true;
    return status == KX_OK;
}

bool kx_value_to_json(const struct kx_value *value, struct kx_buffer *out)
{
    switch (value->encoding) {
    case KX_JSON:
        kx_add_slice(out, value->data);
        return true;
    case KX_LE64:
        write_u64(value->data, out);
        return false;
    case KX_BYTES:
        write_bytes(value, "Uint8Array", out);
        return false;
    case KX_V8:
        return write_v8(value, out);
    case KX_POINTER:
        return write_pointer(value->data, out);
    }
    return false;
}

/* ---- To JavaScript ------------------------------------------------------ */

static enum kx_status give_v8(struct kx_buffer *out, size_t start,
                              struct kx_value *value_out)
{
    if (out->failed)
        return KX_NO_MEMORY;
    *value_out = (struct kx_value){
        .encoding = KX_V8,
        .data = kx_slice(out->data + start, out->size - start)};
    return KX_OK;
}

/* For values of less than 4 GiB, version 16 differs from 15 only in its
 * number. */
static enum kx_status as_version_15(struct kx_slice bytes,
                                    struct kx_buffer *out,
                                    struct kx_value *value_out)
{
    size_t start = out->size;
    kx_add_slice(out, bytes);
    if (!out->failed)
        out->data[start + 1] = V8_VERSION;
    return give_v8(out, start, value_out);
}

/* A value that cannot be read is returned unchanged. */
static enum kx_status v8_for_js(const struct kx_value *value,
                                enum kx_v8_reader reader, struct kx_buffer *out,
                                struct kx_value *value_out)
{
    bool foreign = false;
    size_t start = out->size;
    enum kx_status status = KX_OK;
    if (reader != KX_V8_FOR_NODE)
        status = v8_is_foreign(value->data, out->owner, &foreign);
    if (foreign)
        status = v8_normalize(value->data, out);
    if (status == KX_NO_MEMORY)
        return status;
    if (foreign && status == KX_OK)
        return give_v8(out, start, value_out);
    if (value->data.size > 1 && value->data.data[1] > V8_VERSION)
        return as_version_15(value->data, out, value_out);
    *value_out = *value;
    return KX_OK;
}

/* A pointer is converted from its JSON. A single part of bytes becomes
 * KX_BYTES. */
static enum kx_status pointer_for_js(const struct kx_value *value,
                                     struct kx_buffer *out,
                                     struct kx_value *value_out)
{
    struct kx_buffer json;
    struct kx_fault fault;
    size_t start = out->size;
    enum kx_status status = KX_OK;
    kx_buffer_init(&json, out->owner);
    bool plain = kx_value_to_json(value, &json);
    if (json.failed)
        return KX_NO_MEMORY;
    if (plain) {
        kx_v8_from_json(kx_buffer_slice(&json), out);
        status = give_v8(out, start, value_out);
    } else {
        status = kx_value_from_typed(kx_buffer_slice(&json), out->owner,
                                     value_out, &fault);
    }
    kx_buffer_free(&json);
    return status;
}

enum kx_status kx_value_for_js(const struct kx_value *value,
                               enum kx_v8_reader reader, struct kx_buffer *out,
                               struct kx_value *value_out)
{
    size_t start = out->size;
    switch (value->encoding) {
    case KX_JSON:
        kx_v8_from_json(value->data, out);
        return give_v8(out, start, value_out);
    case KX_V8:
        return v8_for_js(value, reader, out, value_out);
    case KX_POINTER:
        return pointer_for_js(value, out, value_out);
    case KX_LE64:
    case KX_BYTES:
        break;
    }
    *value_out = *value;
    return KX_OK;
}
