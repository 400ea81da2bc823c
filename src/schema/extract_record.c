/* The contents of an index entry, and the sentence on an obstacle. */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>

#include <talloc.h>

#include "json/json_find.h"
#include "schema/extract.h"
#include "schema/totals.h"
#include "entry/typed.h"

/* Projects the stored members of a V8 value that JSON cannot carry, through its
 * typed form. KX_ABSENT if it has no typed form. */
static enum kx_status project_typed(struct extract *extract, void *memory)
{
    const struct declaration *declaration = extract->declaration;
    struct kx_buffer whole;
    struct kx_buffer part;
    struct kx_value value;
    kx_buffer_init(&whole, memory);
    kx_buffer_init(&part, memory);
    enum kx_status status = typed_write(extract->record->value, &whole);
    if (status != KX_OK)
        return status == KX_NO_MEMORY ? status : KX_ABSENT;
    kx_json_project_typed(kx_buffer_slice(&whole), declaration->stored,
                          declaration->stored_count, &part);
    if (part.failed)
        return KX_NO_MEMORY;
    if (part.size == 0)
        return KX_ABSENT;
    status = kx_value_from_typed(kx_buffer_slice(&part), memory, &value, NULL);
    if (status != KX_OK)
        return status;
    extract->stored_encoding = value.encoding;
    kx_add_slice(&extract->stored, value.data);
    return KX_OK;
}

/* KX_ABSENT: the caller uses plain JSON. */
static enum kx_status make_typed(struct extract *extract)
{
    if (extract->record->encoding != KX_V8 || extract->decoded.plain)
        return KX_ABSENT;
    void *memory = talloc_new(extract->stored.owner);
    if (memory == NULL)
        return KX_NO_MEMORY;
    enum kx_status status = project_typed(extract, memory);
    talloc_free(memory);
    return status;
}

static enum kx_status make_stored(struct extract *extract)
{
    const struct declaration *declaration = extract->declaration;
    struct kx_buffer *stored = &extract->stored;
    extract->stored_encoding = KX_JSON;
    enum kx_status status = KX_ABSENT;
    charge_add(extract->charge,
               declaration->stored_count * extract->document.size,
               CHARGE_PASSED);
    if (extract->document.size != 0)
        status = make_typed(extract);
    if (status == KX_ABSENT && extract->document.size != 0)
        kx_json_project(extract->document, declaration->stored,
                        declaration->stored_count, stored);
    if (stored->size == 0)
        kx_add_text(stored, "{}");
    return stored->failed || status == KX_NO_MEMORY ? KX_NO_MEMORY : KX_OK;
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
    if (declaration_aggregates(declaration)) {
        record_out->encoding = KX_JSON;
        record_out->expires_at_ms = 0;
        record_out->owner = kx_slice(NULL, 0);
        record_out->value = extract_totals(extract);
    }
    if (declaration->store != STORE_FIELDS)
        return KX_OK;
    enum kx_status status = KX_OK;
    if (extract->stored.size == 0)
        status = make_stored(extract);
    record_out->encoding = extract->stored_encoding;
    record_out->value = kx_buffer_slice(&extract->stored);
    return status;
}

/* ---- Totals ------------------------------------------------------------- */

/* The number of a KvU64 counter, of which it is the whole value. */
static enum kx_status add_counter(const struct record *record, size_t scale,
                                  struct kx_buffer *out)
{
    char digits[32];
    uint64_t number;
    memcpy(&number, record->value.data, sizeof number);
    snprintf(digits, sizeof digits, "%" PRIu64, le64toh(number));
    return totals_number(kx_text(digits), scale, out);
}

static enum kx_status add_sum(struct extract *extract, size_t n)
{
    const struct declared_sum *sum = &extract->declaration->sums[n];
    const struct record *record = extract->record;
    struct kx_buffer *out = &extract->stored;
    struct kx_slice token;
    enum kx_status status = KX_ABSENT;
    kx_add_text(out, n == 0 ? ",\"sum\":{" : ",");
    kx_json_escape(sum->path, out);
    kx_add_text(out, ":\"");
    if (record->encoding == KX_LE64 && sum->path.size == 0)
        status = add_counter(record, sum->scale, out);
    else if (extract->document.size != 0 &&
             json_pointer_find(extract->document, sum->path, extract->charge,
                               &token))
        status = totals_number(token, sum->scale, out);
    kx_add_byte(out, '"');
    if (status == KX_OK || status == KX_NO_MEMORY)
        return status;
    return extract_obstructed(
        extract, status == KX_ABSENT ? OBSTACLE_NO_NUMBER : OBSTACLE_DIGITS,
        extract->declaration->field_count + n);
}

enum kx_status extract_record_totals(struct extract *extract)
{
    enum kx_status status = KX_OK;
    size_t count = extract->declaration->sum_count;
    kx_add_text(&extract->stored, "{\"count\":1");
    for (size_t n = 0; status == KX_OK && n < count; n++)
        status = add_sum(extract, n);
    kx_add_text(&extract->stored, count == 0 ? "}" : "}}");
    return extract->stored.failed ? KX_NO_MEMORY : status;
}

/* ---- Sentences ---------------------------------------------------------- */

static const char *describe(enum obstacle obstacle)
{
    switch (obstacle) {
    case OBSTACLE_NONE:
    case OBSTACLE_TOO_MANY:
        return "";
    case OBSTACLE_MISSING:
        return "there is nothing at ";
    case OBSTACLE_TYPE:
        return "null, an array or an object is at ";
    case OBSTACLE_NO_ARRAY:
        return "there is no array at ";
    case OBSTACLE_NO_PART:
        return "after the prefix the key has no part ";
    case OBSTACLE_NO_NUMBER:
        return "there is no number to sum up at ";
    case OBSTACLE_DIGITS:
        return "the sum has fewer decimals than the number, or the number too "
               "many digits, at ";
    case OBSTACLE_TOO_LONG:
        return "the index key would be longer than a key may be";
    }
    return "";
}

/* Continues the sentence after the path. Equal elements are counted, too. */
static void describe_elements(const struct extract *extract,
                              struct kx_buffer *detail)
{
    char text[80];
    snprintf(text, sizeof text,
             " has %zu elements; a field with each has at most %d",
             extract->element, KX_INDEX_ENTRIES_MAX);
    kx_add_text(detail, text);
}

static void describe_sum(const struct extract *extract,
                         struct kx_buffer *detail, struct kx_buffer *field_out)
{
    const struct declaration *declaration = extract->declaration;
    size_t n = extract->field - declaration->field_count;
    kx_add_slice(field_out, declaration->sums[n].path);
    kx_json_escape(kx_buffer_slice(field_out), detail);
}

void extract_describe(const struct extract *extract, struct kx_buffer *detail,
                      struct kx_buffer *field_out)
{
    const struct declaration *declaration = extract->declaration;
    char number[24];
    kx_add_text(detail, describe(extract->obstacle));
    if (extract->obstacle == OBSTACLE_TOO_LONG)
        return;
    if (extract->field >= declaration->field_count) {
        describe_sum(extract, detail, field_out);
        return;
    }
    const struct field *field = &declaration->fields[extract->field];
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
    if (extract->obstacle == OBSTACLE_TOO_MANY)
        describe_elements(extract, detail);
}
