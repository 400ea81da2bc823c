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

void entryjson_write(const struct kx_entry *entry, struct kx_buffer *out)
{
    write_value(entry, NULL, out);
}

void entryjson_write_shaped(const struct kx_entry *entry,
                            const struct shape *shape, struct kx_buffer *out)
{
    if (shape->keys_only)
        write_key(entry, out);
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
