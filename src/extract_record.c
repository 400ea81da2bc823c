/* What an index entry holds, and the words for what keeps an entry out. */
#include <stdio.h>

#include "extract.h"

/* ---- The stored members ----------------------------------------------------
 */

/* The member of an object that a reference token names. */
static bool find_member(struct kx_slice object, struct kx_slice token,
                        struct kx_slice *value_out)
{
    struct kx_slice pointer = kx_slice(token.data - 1, token.size + 1);
    return kx_json_type(object) == KX_JSON_OBJECT &&
           kx_json_find(object, pointer, value_out);
}

/* A reference token as a member's name. */
static void write_name(struct kx_slice token, struct kx_buffer *out)
{
    uint8_t plain[KX_POINTER_MAX];
    size_t size = 0;
    for (size_t i = 0; i < token.size; i++) {
        uint8_t byte = token.data[i];
        if (byte == '~')
            byte = token.data[++i] == '0' ? '~' : '/';
        plain[size++] = byte;
    }
    kx_json_escape(kx_slice(plain, size), out);
    kx_add_byte(out, ':');
}

/* Those of `paths` that begin with the same token as the n-th, without it;
 * false when one before it does and has been written with it. */
static bool group(const struct kx_slice *paths, size_t count, size_t n,
                  struct kx_slice *rests_out, size_t *rest_count_out)
{
    struct kx_slice rest = paths[n];
    struct kx_slice token = declaration_take_token(&rest);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        rest = paths[i];
        if (!kx_equal(declaration_take_token(&rest), token))
            continue;
        if (i < n)
            return false;
        rests_out[found++] = rest;
    }
    *rest_count_out = found;
    return true;
}

/* Appends an object with what is found at the paths, nested as it is in the
 * document. No path begins another, so a group with an empty rest has nothing
 * else in it. The recursion is as deep as the document at most. */
static void project(struct kx_slice object, const struct kx_slice *paths,
                    size_t count, struct kx_buffer *out)
{
    struct kx_slice rests[KX_STORED_MAX];
    size_t rest_count = 0;
    size_t empty = out->size + 1;
    kx_add_byte(out, '{');
    for (size_t n = 0; n < count; n++) {
        struct kx_slice rest = paths[n];
        struct kx_slice token = declaration_take_token(&rest);
        struct kx_slice value;
        if (!group(paths, count, n, rests, &rest_count) ||
            !find_member(object, token, &value) ||
            (rest.size > 0 && kx_json_type(value) != KX_JSON_OBJECT))
            continue;
        kx_add(out, ",", out->size > empty);
        write_name(token, out);
        if (rest.size == 0)
            kx_add_slice(out, value);
        else
            project(value, rests, rest_count, out);
    }
    kx_add_byte(out, '}');
}

static enum kx_status make_stored(struct extract *extract)
{
    const struct declaration *declaration = extract->declaration;
    if (extract->stored.size == 0 && extract->document.size != 0)
        project(extract->document, declaration->stored,
                declaration->stored_count, &extract->stored);
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
