/* Writes entries as JSON from texts of known size, because it is called for
 * each entry of a page. */
#include "rest/entryjson.h"

#include <stdio.h>

/* Appends a constant, whose size the compiler knows. */
static inline void add_constant(struct kx_buffer *out, const char *text)
{
    kx_add(out, text, __builtin_strlen(text));
}

void entryjson_write_stamp(uint64_t stamp, struct kx_buffer *out)
{
    char text[KX_STAMP_DIGITS + 2];
    if (stamp == 0) {
        add_constant(out, "null");
        return;
    }
    text[0] = text[KX_STAMP_DIGITS + 1] = '"';
    kx_stamp_text(stamp, text + 1);
    kx_add(out, text, sizeof text);
}

/* Writes the members after key and value. An entry that does not expire has no
 * expiresAt. */
static void write_tail(const struct kx_entry *entry, struct kx_buffer *out)
{
    if (entry->deleted)
        add_constant(out, ",\"deleted\":true");
    add_constant(out, ",\"versionstamp\":");
    entryjson_write_stamp(entry->stamp, out);
    if (entry->expires_at_ms != 0) {
        char digits[40];
        int size = snprintf(digits, sizeof digits, ",\"expiresAt\":%lld",
                            (long long)entry->expires_at_ms);
        kx_add(out, digits, (size_t)size);
    }
    kx_add_byte(out, '}');
}

/* The name of the member is known only after its value is written; `typed` has
 * as many letters as `value`, so it is overwritten in place. */
static void write_value(const struct kx_entry *entry,
                        const struct projection *fields, struct kx_buffer *out)
{
    add_constant(out, "{\"key\":");
    kx_key_to_json(entry->key, out);
    add_constant(out, ",\"value\":");
    size_t name = out->size - strlen("value\":");
    bool plain = fields == NULL ? kx_value_to_json(&entry->value, out)
                                : projection_write(fields, &entry->value, out);
    if (!plain && !out->failed)
        memcpy(out->data + name, "typed", strlen("typed"));
    write_tail(entry, out);
}

/* The same without the value. */
static void write_key(const struct kx_entry *entry, struct kx_buffer *out)
{
    add_constant(out, "{\"key\":");
    kx_key_to_json(entry->key, out);
    write_tail(entry, out);
}

/* The text that a value is shown as; it lies in the value, or in scratch. */
static struct kx_slice text_of(const struct kx_value *value,
                               struct kx_buffer *scratch, const char **kind_out)
{
    *kind_out = value->encoding == KX_BYTES ? "bytes" : "json";
    if (value->encoding == KX_JSON || value->encoding == KX_BYTES)
        return value->data;
    if (!kx_value_to_json(value, scratch))
        *kind_out = "typed";
    return kx_buffer_slice(scratch);
}

/* Bytes that are no text have no preview. */
static void add_start(struct kx_slice text, size_t most, struct kx_buffer *out)
{
    struct kx_slice start = kx_slice(text.data, kx_utf8_fit(text, most));
    if (most == 0 || !kx_utf8_valid(start) ||
        (start.size == 0 && text.size > 0))
        return;
    add_constant(out, ",\"preview\":");
    kx_json_escape(start, out);
    kx_add_text(out,
                start.size < text.size ? ",\"cut\":true" : ",\"cut\":false");
}

/* The same with the start of the value, and what it is. A pointer is as long
 * as its text: it is not stored as the value of an entry. */
static void write_preview(const struct kx_entry *entry, size_t most,
                          struct kx_buffer *out)
{
    const struct kx_value *value = &entry->value;
    struct kx_buffer scratch;
    const char *kind;
    char size[32];
    kx_buffer_init(&scratch, out->owner);
    struct kx_slice text = text_of(value, &scratch, &kind);
    bool pointer = value->encoding == KX_POINTER;
    snprintf(size, sizeof size, "%zu", pointer ? text.size : value->data.size);
    add_constant(out, "{\"key\":");
    kx_key_to_json(entry->key, out);
    add_constant(out, ",\"kind\":\"");
    kx_add_text(out, kind);
    add_constant(out, "\",\"size\":");
    kx_add_text(out, size);
    if (value->encoding == KX_BYTES) {
        add_constant(out, ",\"mediaType\":");
        kx_json_escape(value->media_type, out);
    }
    add_start(text, most, out);
    write_tail(entry, out);
    out->failed |= scratch.failed;
    kx_buffer_free(&scratch);
}

void entryjson_write(const struct kx_entry *entry, struct kx_buffer *out)
{
    if (entry->deleted)
        write_key(entry, out);
    else
        write_value(entry, NULL, out);
}

void entryjson_write_shaped(const struct kx_entry *entry,
                            const struct shape *shape, struct kx_buffer *out)
{
    if (shape->keys_only || entry->deleted)
        write_key(entry, out);
    else if (shape->previews)
        write_preview(entry, shape->preview, out);
    else
        write_value(entry, shape->fields.count > 0 ? &shape->fields : NULL,
                    out);
}

void entryjson_write_absent(struct kx_slice key, struct kx_buffer *out)
{
    add_constant(out, "{\"key\":");
    kx_key_to_json(key, out);
    add_constant(out, ",\"value\":null,\"versionstamp\":null}");
}

void entryjson_one_line(struct kx_buffer *out, size_t from)
{
    for (size_t i = from; i < out->size; i++)
        if (out->data[i] == '\n' || out->data[i] == '\r')
            out->data[i] = ' ';
}

bool entryjson_read_typed(struct kx_slice json, const void *memory,
                          struct kx_value *value_out, struct input_error *error)
{
    struct kx_fault fault = {.status = KX_OK};
    fault.status = kx_value_from_typed(json, memory, value_out, &fault);
    return fault.status == KX_OK || input_error_fault(error, &fault);
}
