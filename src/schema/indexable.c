/* Converts values to parts of index keys. Nearly all are numbers, strings and
 * booleans; a string without escapes and fold is added without a copy. */
#include "schema/indexable.h"

#include <math.h>

#include "json/json_string.h"
#include "entry/typed.h"
#include "v8/v8_date.h"

static enum kx_status add_text(struct kx_slice utf8, enum fold fold,
                               struct kx_buffer *key)
{
    if (fold == FOLD_NONE)
        return kx_key_add_string(key, utf8);
    struct kx_buffer folded;
    kx_buffer_init(&folded, key->owner);
    enum kx_status status = KX_NO_MEMORY;
    if (casefold_text(fold, utf8, &folded))
        status = kx_key_add_string(key, kx_buffer_slice(&folded));
    kx_buffer_free(&folded);
    return status;
}

enum kx_status indexable_fold(struct kx_slice encoded, enum fold fold,
                              struct kx_buffer *key)
{
    struct kx_key_reader reader;
    struct kx_part part;
    kx_key_read(&reader, encoded);
    enum kx_status status = KX_OK;
    if (fold != FOLD_NONE)
        status = kx_key_next(&reader, &part);
    if (status != KX_OK)
        return status;
    if (fold != FOLD_NONE && part.type == KX_STRING)
        return add_text(part.bytes, fold, key);
    kx_add_slice(key, encoded);
    return KX_OK;
}

static enum kx_status add_string(struct kx_slice token, enum fold fold,
                                 struct kx_buffer *key)
{
    struct kx_slice body = json_string_body(token);
    if (memchr(body.data, '\\', body.size) == NULL)
        return add_text(body, fold, key);
    struct kx_buffer plain;
    kx_buffer_init(&plain, key->owner);
    kx_json_unescape(token, &plain);
    enum kx_status status = plain.failed
                                ? KX_NO_MEMORY
                                : add_text(kx_buffer_slice(&plain), fold, key);
    kx_buffer_free(&plain);
    return status;
}

/* The text of a Date in the kv-utils form; false for all other objects. */
static bool is_date(struct kx_slice object, struct kx_slice *text_out)
{
    struct typed typed;
    if (typed_members(object, &typed, NULL) != KX_OK ||
        !kx_equal(typed.type, kx_text("Date")) ||
        kx_json_type(typed.value) != KX_JSON_STRING)
        return false;
    *text_out = json_string_body(typed.value);
    return true;
}

/* An object that only resembles one of the forms cannot be indexed. */
static enum kx_status add_object(struct kx_slice object, struct kx_buffer *key)
{
    struct kx_slice text;
    double ms = 0;
    if (is_date(object, &text))
        return v8_date_read(text, &ms) && !isnan(ms)
                   ? kx_key_add_number(key, ms)
                   : KX_ABSENT;
    enum kx_status status = kx_key_add_typed(key, object, NULL);
    return status == KX_OK || status == KX_NO_MEMORY ? status : KX_ABSENT;
}

enum kx_status indexable_add(struct kx_slice token, enum fold fold,
                             struct kx_buffer *key)
{
    double number = 0;
    switch (kx_json_type(token)) {
    case KX_JSON_STRING:
        return add_string(token, fold, key);
    case KX_JSON_NUMBER:
        if (!kx_number_parse(token, &number))
            return KX_ABSENT;
        return kx_key_add_number(key, number);
    case KX_JSON_TRUE:
        return kx_key_add_boolean(key, true);
    case KX_JSON_FALSE:
        return kx_key_add_boolean(key, false);
    case KX_JSON_OBJECT:
        return add_object(token, key);
    case KX_JSON_NULL:
    case KX_JSON_ARRAY:
        break;
    }
    return KX_ABSENT;
}

/* ---- Zero --------------------------------------------------------------- */

static const uint8_t zero_part[] = {0x21, 0x80, 0, 0, 0, 0, 0, 0, 0};
static const uint8_t negative_zero_part[] = {0x21, 0x7f, 0xff, 0xff, 0xff,
                                             0xff, 0xff, 0xff, 0xff};

static bool is_negative_zero(struct kx_slice encoded)
{
    return kx_equal(encoded,
                    kx_slice(negative_zero_part, sizeof negative_zero_part));
}

void indexable_unsign(struct kx_buffer *key, size_t at)
{
    if (is_negative_zero(kx_slice(key->data + at, key->size - at)))
        memcpy(key->data + at, zero_part, sizeof zero_part);
}

enum kx_status indexable_add_value(struct kx_slice token, enum fold fold,
                                   bool signed_zero, struct kx_buffer *key)
{
    static const uint8_t negative_nan[] = {0x21, 0x00, 0x07, 0xff, 0xff,
                                           0xff, 0xff, 0xff, 0xff};
    size_t at = key->size;
    enum kx_status status = indexable_add(token, fold, key);
    if (status != KX_OK)
        return status;
    if (kx_equal(kx_slice(key->data + at, key->size - at),
                 kx_slice(negative_nan, sizeof negative_nan)))
        return KX_ABSENT;
    if (!signed_zero)
        indexable_unsign(key, at);
    return KX_OK;
}

bool indexable_is_zero(struct kx_slice encoded)
{
    return is_negative_zero(encoded) ||
           kx_equal(encoded, kx_slice(zero_part, sizeof zero_part));
}

/* ---- Order -------------------------------------------------------------- */

static const uint8_t null_part[] = {0x01, 0x00}; /* an empty byte string */

enum kx_status indexable_add_null(struct kx_buffer *key)
{
    kx_add(key, null_part, sizeof null_part);
    return key->failed ? KX_NO_MEMORY : KX_OK;
}

bool indexable_is_null(struct kx_slice encoded)
{
    return kx_equal(encoded, kx_slice(null_part, sizeof null_part));
}

static void invert(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)~bytes[i];
}

enum kx_status indexable_descend(struct kx_buffer *key, size_t at)
{
    struct kx_buffer part;
    kx_buffer_init(&part, key->owner);
    kx_add(&part, key->data + at, key->size - at);
    kx_add_byte(&part, 0);
    enum kx_status status = part.failed || key->failed ? KX_NO_MEMORY : KX_OK;
    if (status == KX_OK) {
        invert(part.data, part.size);
        key->size = at;
        status = kx_key_add_bytes(key, kx_buffer_slice(&part));
    }
    kx_buffer_free(&part);
    return status;
}

enum kx_status indexable_ascend(struct kx_slice encoded, struct kx_buffer *key)
{
    struct kx_key_reader reader;
    struct kx_part part;
    size_t at = key->size;
    kx_key_read(&reader, encoded);
    if (kx_key_next(&reader, &part) != KX_OK || part.type != KX_BYTES_PART)
        return KX_BAD_KEY;
    if (part.bytes.size == 0 || part.bytes.data[part.bytes.size - 1] != 0xff)
        return KX_BAD_KEY;
    kx_add(key, part.bytes.data, part.bytes.size - 1);
    if (key->failed)
        return KX_NO_MEMORY;
    invert(key->data + at, key->size - at);
    if (kx_part_size(kx_slice(key->data + at, key->size - at)) ==
        key->size - at)
        return KX_OK;
    key->size = at;
    return KX_BAD_KEY;
}
