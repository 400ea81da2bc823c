/* Entries as JSON, put together from texts of known size: a page of a thousand
 * entries passes through here. */
#include "entryjson.h"

#include <stdio.h>

/* For constants: the size is known when it is compiled. */
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

/* What follows key and value. An entry without end has no expiresAt at all. */
static void write_tail(const struct kx_entry *entry, struct kx_buffer *out)
{
    add_constant(out, ",\"versionstamp\":");
    entryjson_write_stamp(entry->stamp, out);
    if (entry->expires_at_ms != 0) {
        char digits[32];
        int size = snprintf(digits, sizeof digits, ",\"expiresAt\":%lld",
                            (long long)entry->expires_at_ms);
        kx_add(out, digits, (size_t)size);
    }
    kx_add_byte(out, '}');
}

void entryjson_write(const struct kx_entry *entry, struct kx_buffer *out)
{
    add_constant(out, "{\"key\":");
    kx_key_to_json(entry->key, out);
    add_constant(out, ",\"value\":");
    size_t name = out->size - strlen("value\":");
    if (!kx_value_to_json(&entry->value, out) && !out->failed)
        memcpy(out->data + name, "typed", strlen("typed"));
    write_tail(entry, out);
}

void entryjson_write_key(const struct kx_entry *entry, struct kx_buffer *out)
{
    add_constant(out, "{\"key\":");
    kx_key_to_json(entry->key, out);
    write_tail(entry, out);
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
