/* When two values are the same: as JSON if both are JSON, as bytes if both have
 * another encoding, and a pointer with the JSON in which clients see and write
 * it. This is how a client's own upkeep of an index is compared with the index.
 */
#include "json_string.h"
#include "value.h"

/* Bytes and bigint parts have no plain JSON form, so nothing equals them. */
static bool part_equals(const struct kx_part *part, struct kx_slice json)
{
    enum kx_json_type type = kx_json_type(json);
    double number;
    switch (part->type) {
    case KX_STRING:
        return type == KX_JSON_STRING && json_string_is(json, part->bytes);
    case KX_NUMBER:
        return type == KX_JSON_NUMBER && kx_number_parse(json, &number) &&
               number == part->number;
    case KX_BOOLEAN:
        return type == (part->boolean ? KX_JSON_TRUE : KX_JSON_FALSE);
    case KX_BYTES_PART:
    case KX_BIGINT:
        return false;
    }
    return false;
}

static bool parts_equal(struct kx_key_reader *reader, struct kx_slice array)
{
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice element;
    struct kx_part part;
    if (!kx_json_iterate(array, &iter) || iter.object)
        return false;
    while (kx_json_next(&iter, &none, &element))
        if (kx_key_next(reader, &part) != KX_OK || !part_equals(&part, element))
            return false;
    return kx_key_next(reader, &part) == KX_END;
}

/* One part is shown as itself, several as an array. */
static bool pointer_equals(struct kx_slice pointer, struct kx_slice json)
{
    struct kx_key_reader reader;
    struct kx_part part;
    kx_key_read(&reader, pointer);
    if (!kx_json_find(json, kx_text(""), &json))
        return false;
    if (kx_part_size(pointer) != pointer.size)
        return parts_equal(&reader, json);
    return kx_key_next(&reader, &part) == KX_OK && part_equals(&part, json);
}

static bool same_encoding_equal(const struct kx_value *a,
                                const struct kx_value *b)
{
    if (a->encoding == KX_JSON)
        return kx_json_equal(a->data, b->data);
    return kx_equal(a->data, b->data) && kx_equal(a->media_type, b->media_type);
}

bool value_equal(const struct kx_value *a, const struct kx_value *b)
{
    if (a->encoding == b->encoding)
        return same_encoding_equal(a, b);
    if (a->encoding == KX_POINTER && b->encoding == KX_JSON)
        return pointer_equals(a->data, b->data);
    if (a->encoding == KX_JSON && b->encoding == KX_POINTER)
        return pointer_equals(b->data, a->data);
    return false;
}
