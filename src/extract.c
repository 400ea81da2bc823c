/* From an entry to the key and record of its index entry. Keys are [name,
 * fields...] for a unique index and [name, fields..., parts of the owner] for
 * another: the owner's part is not stored twice but found in the key. */
#include "extract.h"

static enum kx_status add_folded(const struct field *field,
                                 struct kx_slice plain, struct kx_buffer *key)
{
    if (field->fold == FOLD_NONE)
        return kx_key_add_string(key, plain);
    struct kx_buffer folded;
    kx_buffer_init(&folded, key->owner);
    enum kx_status status = KX_NO_MEMORY;
    if (fold_text(field->fold, plain, &folded))
        status = kx_key_add_string(key, kx_buffer_slice(&folded));
    kx_buffer_free(&folded);
    return status;
}

static enum kx_status add_string(const struct field *field,
                                 struct kx_slice token, struct kx_buffer *key)
{
    struct kx_slice inner = kx_slice(token.data + 1, token.size - 2);
    if (memchr(inner.data, '\\', inner.size) == NULL)
        return add_folded(field, inner, key);
    struct kx_buffer plain;
    kx_buffer_init(&plain, key->owner);
    kx_json_unescape(token, &plain);
    enum kx_status status =
        plain.failed ? KX_NO_MEMORY
                     : add_folded(field, kx_buffer_slice(&plain), key);
    kx_buffer_free(&plain);
    return status;
}

/* KX_ABSENT: there is no indexable value at the path. null, arrays and objects
 * have no place in the order of keys. */
static enum kx_status add_field(const struct field *field,
                                struct kx_slice document, struct kx_buffer *key)
{
    struct kx_slice token;
    double number = 0;
    if (!kx_json_find(document, field->path, &token))
        return KX_ABSENT;
    switch (kx_json_type(token)) {
    case KX_JSON_STRING:
        return add_string(field, token, key);
    case KX_JSON_NUMBER:
        if (!kx_number_parse(token, &number))
            return KX_ABSENT;
        return kx_key_add_number(key, number);
    case KX_JSON_TRUE:
        return kx_key_add_boolean(key, true);
    case KX_JSON_FALSE:
        return kx_key_add_boolean(key, false);
    case KX_JSON_NULL:
    case KX_JSON_ARRAY:
    case KX_JSON_OBJECT:
        break;
    }
    return KX_ABSENT;
}

/* Values that are not JSON text have no fields. A value whose index key would
 * be too long is left out rather than refused: the entry is right by itself. */
enum kx_status extract_key(const struct declaration *declaration,
                           struct kx_slice key, const struct record *record,
                           struct kx_buffer *key_out, uint16_t *owner_at_out)
{
    if (record->encoding != KX_JSON)
        return KX_ABSENT;
    key_out->size = 0;
    kx_add_slice(key_out, declaration->name_key);
    for (size_t i = 0; i < declaration->field_count; i++) {
        enum kx_status status =
            add_field(&declaration->fields[i], record->value, key_out);
        if (status != KX_OK)
            return status == KX_NO_MEMORY ? KX_NO_MEMORY : KX_ABSENT;
    }
    size_t skip = declaration->prefix.size;
    uint16_t owner_at = 0;
    if (!declaration->unique) {
        if (key_out->size > KX_KEY_MAX)
            return KX_ABSENT;
        owner_at = (uint16_t)key_out->size;
        kx_add(key_out, key.data + skip, key.size - skip);
    }
    if (key_out->failed)
        return KX_NO_MEMORY;
    if (key_out->size > KX_KEY_MAX)
        return KX_ABSENT;
    *owner_at_out = owner_at;
    return KX_OK;
}

/* Parts behind the fields belong to the owner and are taken as they are. */
enum kx_status extract_lookup(const struct declaration *declaration,
                              struct kx_slice parts, struct kx_buffer *key_out)
{
    struct kx_key_reader reader;
    struct kx_part part;
    enum kx_status status = KX_OK;
    key_out->size = 0;
    kx_add_slice(key_out, declaration->name_key);
    kx_key_read(&reader, parts);
    for (size_t i = 0; status == KX_OK; i++) {
        status = kx_key_next(&reader, &part);
        if (status != KX_OK)
            break;
        if (i < declaration->field_count && part.type == KX_STRING)
            status = add_folded(&declaration->fields[i], part.bytes, key_out);
        else
            status = kx_key_add(key_out, &part);
    }
    if (key_out->failed)
        return KX_NO_MEMORY;
    return status == KX_END ? KX_OK : status;
}

struct record extract_record(const struct declaration *declaration,
                             struct kx_slice key, const struct record *record,
                             uint16_t owner_at, uint32_t index)
{
    size_t skip = declaration->prefix.size;
    struct record entry = {
        .encoding = KX_POINTER,
        .expires_at_ms = record->expires_at_ms,
        .index = index,
        .owner_at = owner_at,
        .owner = kx_slice(key.data + skip, key.size - skip),
    };
    if (declaration->store == STORE_VALUE) {
        entry.encoding = record->encoding;
        entry.media_type = record->media_type;
        entry.value = record->value;
    }
    return entry;
}
