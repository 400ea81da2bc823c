/* What an index entry holds, and the words for what keeps an entry out. */
#include <stdio.h>

#include "extract.h"

static enum kx_status make_stored(struct extract *extract)
{
    const struct declaration *declaration = extract->declaration;
    if (extract->stored.size == 0 && extract->document.size != 0)
        kx_json_project(extract->document, declaration->stored,
                        declaration->stored_count, false, &extract->stored);
    if (extract->stored.size == 0)
        kx_add_text(&extract->stored, "{}");
    return extract->stored.failed ? KX_NO_MEMORY : KX_OK;
}

enum kx_status extract_record(struct extract *extract, size_t n, uint32_t index,
                              struct record *record_out)
{
    const struct declaration *declaration = extract->declaration;
    const struct record *record = extract->record;
    size_t skip = declaration->prefix.size;
    *record_out = (struct record){
        .encoding = KX_POINTER,
        .expires_at_ms = record->expires_at_ms,
        .index = index,
        .owner_at = extract->keys[n].owner_at,
        .owner = kx_slice(extract->key.data + skip, extract->key.size - skip),
    };
    if (declaration->store == STORE_VALUE) {
        record_out->encoding = record->encoding;
        record_out->media_type = record->media_type;
        record_out->value = record->value;
    }
    if (declaration->store != STORE_FIELDS)
        return KX_OK;
    enum kx_status status = make_stored(extract);
    record_out->encoding = KX_JSON;
    record_out->value = kx_buffer_slice(&extract->stored);
    return status;
}

/* ---- Words -----------------------------------------------------------------
 */

static const char *describe(enum obstacle obstacle)
{
    switch (obstacle) {
    case OBSTACLE_NONE:
        return "";
    case OBSTACLE_MISSING:
        return "there is nothing at ";
    case OBSTACLE_TYPE:
        return "null, an array or an object is at ";
    case OBSTACLE_NO_ARRAY:
        return "there is no array at ";
    case OBSTACLE_NO_PART:
        return "after the prefix the key has no part ";
    case OBSTACLE_TOO_LONG:
        return "the index key would be longer than a key may be";
    case OBSTACLE_TOO_MANY:
        return "there are more elements than one entry may have index entries "
               "at ";
    }
    return "";
}

void extract_describe(const struct extract *extract, struct kx_buffer *detail,
                      struct kx_buffer *field_out)
{
    const struct declaration *declaration = extract->declaration;
    const struct field *field = &declaration->fields[extract->field];
    char number[24];
    kx_add_text(detail, describe(extract->obstacle));
    if (extract->obstacle == OBSTACLE_TOO_LONG)
        return;
    if (field->key_part != 0) {
        snprintf(number, sizeof number, "%zu", field->key_part);
        kx_add_text(detail, number);
        return;
    }
    kx_add_slice(field_out, field->path);
    if (field->each && extract->obstacle == OBSTACLE_TYPE) {
        snprintf(number, sizeof number, "/%zu", extract->element);
        kx_add_text(field_out, number);
    }
    kx_json_escape(kx_buffer_slice(field_out), detail);
}
