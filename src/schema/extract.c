/* Computes the keys of an entry's index entries. A key is [name, fields...] for
 * a unique index, otherwise [name, fields..., parts of the owner]. In that case
 * the record does not repeat the owner, which is found in the key.
 *
 * A field with `each` gives a key for each element. The parts of the key before
 * and after the element are computed once. */
#include "schema/extract.h"

#include <endian.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>

#include "entry/typed.h"
#include "json/json_find.h"
#include "schema/indexable.h"
#include "schema/predicate.h"
#include "schema/totals.h"
#include "v8/v8_date.h"

/* The farthest time from 1970 that a job may be due. */
#define DUE_MAX_MS 8.64e15

static enum kx_status extract_record_totals(struct extract *extract);

void extract_init(struct extract *extract, void *owner)
{
    extract->keys = NULL;
    extract->capacity = 0;
    extract->count = 0;
    extract->charge = NULL;
    kx_buffer_init(&extract->bytes, owner);
    index_document_init(&extract->decoded, owner);
    kx_buffer_init(&extract->scratch, owner);
    kx_buffer_init(&extract->stored, owner);
}

/* ---- Fields ------------------------------------------------------------- */

/* Complements the part of field n, which begins at `at`, if greater values come
 * first. */
static enum kx_status in_order(const struct extract *extract, size_t n,
                               size_t at, struct kx_buffer *out)
{
    return extract->declaration->fields[n].descending
               ? indexable_descend(out, at)
               : KX_OK;
}

/* The entry has nothing in field n. */
static enum kx_status add_missing(struct extract *extract, size_t n,
                                  enum obstacle obstacle, struct kx_buffer *out)
{
    size_t at = out->size;
    if (extract->declaration->missing != MISSING_NULL)
        return extract_obstructed(extract, obstacle, n);
    enum kx_status status = indexable_add_null(out);
    return status == KX_OK ? in_order(extract, n, at, out) : status;
}

/* Adds the part of the owner's key that field n names. */
static enum kx_status add_key_part(struct extract *extract, size_t n,
                                   struct kx_buffer *out)
{
    const struct field *field = &extract->declaration->fields[n];
    size_t skip = extract->declaration->prefix.size;
    struct kx_slice rest =
        kx_slice(extract->key.data + skip, extract->key.size - skip);
    for (size_t i = 1; i < field->key_part && rest.size > 0; i++) {
        size_t size = kx_part_size(rest);
        rest = kx_slice(rest.data + size, size == 0 ? 0 : rest.size - size);
    }
    size_t size = rest.size == 0 ? 0 : kx_part_size(rest);
    if (size == 0)
        return add_missing(extract, n, OBSTACLE_NO_PART, out);
    size_t at = out->size;
    enum kx_status status =
        indexable_fold(kx_slice(rest.data, size), field->fold, out);
    return status == KX_OK ? in_order(extract, n, at, out) : status;
}

/* Charges only for text beyond ASCII and for escapes, most of which are beyond
 * ASCII: other text takes hardly any time to fold. */
static void charge_value(struct extract *extract, enum fold fold,
                         struct kx_slice token)
{
    size_t folded = 0;
    charge_add(extract->charge, token.size, CHARGE_PASSED);
    if (extract->charge == NULL || fold == FOLD_NONE)
        return;
    for (size_t i = 0; i < token.size; i++)
        folded += token.data[i] >= 0x80 || token.data[i] == '\\';
    charge_add(extract->charge, folded, CHARGE_FOLDED);
}

static enum kx_status add_value(struct extract *extract, size_t n,
                                struct kx_slice token, struct kx_buffer *out)
{
    const struct declaration *declaration = extract->declaration;
    enum fold fold = declaration->fields[n].fold;
    size_t at = out->size;
    charge_value(extract, fold, token);
    if (kx_json_type(token) == KX_JSON_NULL)
        return add_missing(extract, n, OBSTACLE_TYPE, out);
    enum kx_status status =
        indexable_add_value(token, fold, declaration->signed_zero, out);
    if (status == KX_OK)
        return in_order(extract, n, at, out);
    if (status == KX_NO_MEMORY)
        return status;
    return extract_obstructed(extract, OBSTACLE_TYPE, n);
}

static enum kx_status add_versionstamp(const struct extract *extract,
                                       struct kx_buffer *out)
{
    char digits[KX_STAMP_DIGITS];
    kx_stamp_text(extract->record->stamp, digits);
    return kx_key_add_string(out, kx_slice(digits, sizeof digits));
}

/* Reads a part of an index key as a time in ms. */
static bool read_time(struct kx_slice encoded, double *ms_out)
{
    struct kx_key_reader reader;
    struct kx_part part;
    kx_key_read(&reader, encoded);
    if (kx_key_next(&reader, &part) != KX_OK)
        return false;
    if (part.type == KX_NUMBER)
        *ms_out = part.number;
    else if (part.type != KX_STRING || !v8_date_read(part.bytes, ms_out))
        return false;
    return fabs(*ms_out) <= DUE_MAX_MS;
}

/* A job is due at the later one of the time in its value and its not-before
 * time. Without either it is due since 1970, so such jobs come in the order of
 * their keys. */
static enum kx_status add_due(struct extract *extract, size_t n,
                              struct kx_buffer *out)
{
    struct kx_slice token;
    const struct record *record = extract->record;
    double due = 0;
    size_t at = out->size;
    if (extract->document.size != 0 &&
        json_pointer_find(extract->document,
                          extract->declaration->fields[n].path, extract->charge,
                          &token) &&
        kx_json_type(token) != KX_JSON_NULL) {
        charge_value(extract, FOLD_NONE, token);
        enum kx_status status =
            indexable_add_value(token, FOLD_NONE, false, out);
        if (status == KX_NO_MEMORY || out->failed)
            return KX_NO_MEMORY;
        if (status != KX_OK ||
            !read_time(kx_slice(out->data + at, out->size - at), &due))
            return extract_obstructed(extract, OBSTACLE_DUE, n);
        out->size = at;
    }
    if (record->has_job && (double)record->job.not_before_ms > due)
        due = (double)record->job.not_before_ms;
    return kx_key_add_number(out, floor(due));
}

bool extract_due(struct kx_slice key, const struct record *row,
                 struct extract_due *due_out)
{
    enum { NUMBER_PART = 1 + sizeof(double) };
    struct kx_key_reader reader;
    struct kx_part part;
    size_t end = row->owner_at;
    if (end < NUMBER_PART || end > key.size)
        return false;
    size_t at = end - NUMBER_PART;
    kx_key_read(&reader, kx_slice(key.data + at, NUMBER_PART));
    if (kx_key_next(&reader, &part) != KX_OK || part.type != KX_NUMBER)
        return false;
    due_out->group = kx_slice(key.data, at);
    due_out->ms = (int64_t)part.number;
    return true;
}

static enum kx_status add_field(struct extract *extract, size_t n,
                                struct kx_buffer *out)
{
    const struct field *field = &extract->declaration->fields[n];
    struct kx_slice token;
    if (field->versionstamp)
        return add_versionstamp(extract, out);
    if (field->due)
        return add_due(extract, n, out);
    if (field->key_part != 0)
        return add_key_part(extract, n, out);
    if (extract->document.size == 0 ||
        !json_pointer_find(extract->document, field->path, extract->charge,
                           &token))
        return add_missing(extract, n, OBSTACLE_MISSING, out);
    return add_value(extract, n, token, out);
}

/* Adds the fields [from, to). */
static enum kx_status add_fields(struct extract *extract, size_t from,
                                 size_t to, struct kx_buffer *out)
{
    enum kx_status status = KX_OK;
    for (size_t n = from; status == KX_OK && n < to; n++)
        status = add_field(extract, n, out);
    return status;
}

static void add_owner(const struct extract *extract, struct kx_buffer *out)
{
    size_t skip = extract->declaration->prefix.size;
    kx_add(out, extract->key.data + skip, extract->key.size - skip);
}

/* ---- Keys --------------------------------------------------------------- */

static bool make_room(struct extract *extract)
{
    if (extract->count < extract->capacity)
        return true;
    size_t capacity = extract->capacity * 4 + 4;
    struct index_key *keys =
        talloc_realloc(extract->bytes.owner, extract->keys, struct index_key,
                       (unsigned)capacity);
    if (keys == NULL)
        return false;
    extract->keys = keys;
    extract->capacity = capacity;
    return true;
}

static bool is_passed_over(const struct extract *extract, struct kx_slice key)
{
    return extract->only.size != 0 && !kx_equal(extract->only, key);
}

/* Keeps the bytes from `at` on as a key. The owner is the last `owner_size`
 * bytes of the key, except for a unique index. */
static enum kx_status keep_key(struct extract *extract, size_t at,
                               size_t owner_size)
{
    struct kx_buffer *bytes = &extract->bytes;
    size_t size = bytes->size - at;
    charge_add(extract->charge, 1, CHARGE_OPERATION);
    if (bytes->failed || !make_room(extract))
        return KX_NO_MEMORY;
    if (is_passed_over(extract, kx_slice(bytes->data + at, size))) {
        bytes->size = at;
        return KX_OK;
    }
    if (size > KX_KEY_MAX) {
        bytes->size = at;
        return extract_obstructed(extract, OBSTACLE_TOO_LONG, 0);
    }
    uint16_t owner_at = 0;
    if (declaration_ends_in_owner(extract->declaration))
        owner_at = (uint16_t)(size - owner_size);
    extract->keys[extract->count++] = (struct index_key){
        .at = (uint32_t)at, .size = (uint16_t)size, .owner_at = owner_at};
    return KX_OK;
}

static size_t owner_size(const struct extract *extract)
{
    return extract->key.size - extract->declaration->prefix.size;
}

static enum kx_status add_only_key(struct extract *extract)
{
    const struct declaration *declaration = extract->declaration;
    struct kx_buffer *bytes = &extract->bytes;
    kx_add_slice(bytes, declaration->name_key);
    enum kx_status status =
        add_fields(extract, 0, declaration->field_count, bytes);
    if (status != KX_OK)
        return status;
    if (declaration_ends_in_owner(declaration))
        add_owner(extract, bytes);
    return keep_key(extract, 0, owner_size(extract));
}

/* Adds the key of one element. The parts before the element are the first
 * `head` bytes of extract->bytes; the parts after the element are in
 * extract->scratch. KX_ABSENT: the element is left out. */
static enum kx_status add_element(struct extract *extract, size_t head,
                                  struct kx_slice element)
{
    struct kx_buffer *bytes = &extract->bytes;
    size_t at = bytes->size;
    if (!kx_buffer_reserve(bytes, head))
        return KX_NO_MEMORY;
    kx_add(bytes, bytes->data, head);
    enum kx_status status =
        add_value(extract, extract->declaration->each, element, bytes);
    if (status != KX_OK) {
        bytes->size = at;
        return status;
    }
    kx_add_slice(bytes, kx_buffer_slice(&extract->scratch));
    return keep_key(extract, at, owner_size(extract));
}

/* Returns the number of remaining elements. */
static size_t count_rest(struct kx_json_iter *iter)
{
    struct kx_slice none;
    struct kx_slice element;
    size_t count = 0;
    while (kx_json_next(iter, &none, &element))
        count++;
    return count;
}

/* An element that cannot be indexed does not exclude the others. */
static enum kx_status add_elements(struct extract *extract,
                                   struct kx_slice array)
{
    size_t head = extract->bytes.size;
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice element;
    size_t n = 0;
    if (!kx_json_iterate(array, &iter) || iter.object)
        return extract_obstructed(extract, OBSTACLE_NO_ARRAY,
                                  extract->declaration->each);
    for (; kx_json_next(&iter, &none, &element); n++) {
        if (n == KX_INDEX_ENTRIES_MAX) {
            extract->obstacle = OBSTACLE_NONE;
            extract->element = n + 1 + count_rest(&iter);
            return extract_obstructed(extract, OBSTACLE_TOO_MANY,
                                      extract->declaration->each);
        }
        bool clear = extract->obstacle == OBSTACLE_NONE;
        enum kx_status status = add_element(extract, head, element);
        if (status == KX_NO_MEMORY)
            return status;
        if (clear)
            extract->element = n;
    }
    return KX_OK;
}

/* Finds the array of the field with `each`. With `missing` null, an absent
 * value and null count as an array of one null. */
static bool find_array(const struct extract *extract, struct kx_slice *array)
{
    const struct declaration *declaration = extract->declaration;
    bool found = extract->document.size != 0 &&
                 json_pointer_find(extract->document,
                                   declaration->fields[declaration->each].path,
                                   extract->charge, array);
    bool nothing = !found || kx_json_type(*array) == KX_JSON_NULL;
    if (nothing && declaration->missing == MISSING_NULL) {
        *array = kx_text("[null]");
        return true;
    }
    return found;
}

static enum kx_status add_each_key(struct extract *extract)
{
    const struct declaration *declaration = extract->declaration;
    struct kx_slice array;
    extract->scratch.size = 0;
    kx_add_slice(&extract->bytes, declaration->name_key);
    enum kx_status status =
        add_fields(extract, 0, declaration->each, &extract->bytes);
    if (status == KX_OK)
        status = add_fields(extract, declaration->each + 1,
                            declaration->field_count, &extract->scratch);
    if (status != KX_OK)
        return status;
    if (declaration_ends_in_owner(declaration))
        add_owner(extract, &extract->scratch);
    if (extract->scratch.failed)
        return KX_NO_MEMORY;
    if (!find_array(extract, &array))
        return extract_obstructed(extract, OBSTACLE_MISSING, declaration->each);
    return add_elements(extract, array);
}

/* ---- Order -------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b, void *bytes)
{
    const struct index_key *left = a;
    const struct index_key *right = b;
    const uint8_t *data = bytes;
    return kx_compare(kx_slice(data + left->at, left->size),
                      kx_slice(data + right->at, right->size));
}

/* Sorts the keys and drops duplicates: equal elements give one index entry. */
static void sort_keys(struct extract *extract)
{
    size_t kept = 0;
    if (extract->count < 2)
        return;
    qsort_r(extract->keys, extract->count, sizeof extract->keys[0], by_bytes,
            extract->bytes.data);
    for (size_t i = 1; i < extract->count; i++)
        if (!kx_equal(extract_key(extract, kept), extract_key(extract, i)))
            extract->keys[++kept] = extract->keys[i];
    extract->count = kept + 1;
}

size_t extract_find(const struct extract *extract, struct kx_slice key)
{
    size_t first = 0;
    size_t end = extract->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        int order = kx_compare(key, extract_key(extract, middle));
        if (order == 0)
            return middle;
        if (order < 0)
            end = middle;
        else
            first = middle + 1;
    }
    return extract->count;
}

/* ---- All ---------------------------------------------------------------- */

static void start(struct extract *extract,
                  const struct declaration *declaration, struct kx_slice key,
                  const struct record *record)
{
    extract->declaration = declaration;
    extract->key = key;
    extract->record = record;
    extract->only = kx_slice(NULL, 0);
    extract->document = kx_slice(NULL, 0);
    extract->bytes.size = 0;
    extract->stored.size = 0;
    extract->count = 0;
    extract->excluded = false;
    extract->obstacle = OBSTACLE_NONE;
}

/* An entry with too many elements is refused even with `missing` skip:
 * otherwise some of its elements would be found and others not. So is a job
 * that would never be due. */
static enum kx_status judge(struct extract *extract, enum kx_status status)
{
    if (status == KX_NO_MEMORY)
        return status;
    if (extract->obstacle == OBSTACLE_NONE ||
        (extract->declaration->missing != MISSING_ERROR &&
         extract->obstacle != OBSTACLE_TOO_MANY &&
         extract->obstacle != OBSTACLE_DUE))
        return KX_OK;
    extract->count = 0;
    return KX_NOT_INDEXABLE;
}

static enum kx_status make_keys(struct extract *extract)
{
    const struct declaration *declaration = extract->declaration;
    extract->decoded.charge = extract->charge;
    enum kx_status status = index_document_text(
        &extract->decoded, extract->record, &extract->document);
    if (status == KX_NO_MEMORY)
        return status;
    if (declaration->where_count != 0) {
        status = predicate_holds(declaration, extract->document,
                                 &extract->scratch, extract->charge, NULL);
        extract->excluded = status == KX_ABSENT;
        if (status != KX_OK)
            return extract->excluded ? KX_OK : status;
    }
    status = declaration_aggregates(declaration)
                 ? extract_record_totals(extract)
                 : KX_OK;
    if (status == KX_OK)
        status = declaration->has_each ? add_each_key(extract)
                                       : add_only_key(extract);
    status = judge(extract, status);
    sort_keys(extract);
    return status;
}

enum kx_left_out extract_left_out(const struct extract *extract)
{
    switch (extract->excluded ? OBSTACLE_NONE : extract->obstacle) {
    case OBSTACLE_MISSING:
    case OBSTACLE_NO_PART:
        return KX_LEFT_OUT_MISSING;
    case OBSTACLE_TYPE:
    case OBSTACLE_DUE:
    case OBSTACLE_NO_ARRAY:
    case OBSTACLE_NO_NUMBER:
    case OBSTACLE_DIGITS:
        return KX_LEFT_OUT_TYPE;
    case OBSTACLE_TOO_LONG:
    case OBSTACLE_TOO_MANY:
        return KX_LEFT_OUT_SIZE;
    case OBSTACLE_NONE:
        break;
    }
    return extract->excluded ? KX_LEFT_OUT_WHERE : KX_LEFT_OUT_EMPTY;
}

enum kx_status extract_keys(struct extract *extract,
                            const struct declaration *declaration,
                            struct kx_slice key, const struct record *record)
{
    start(extract, declaration, key, record);
    return make_keys(extract);
}

enum kx_status extract_one(struct extract *extract,
                           const struct declaration *declaration,
                           struct kx_slice key, const struct record *record,
                           struct kx_slice index_key)
{
    start(extract, declaration, key, record);
    extract->only = index_key;
    enum kx_status status = make_keys(extract);
    return status == KX_OK && extract->count == 0 ? KX_NOT_INDEXABLE : status;
}

/* ---- Look-ups ----------------------------------------------------------- */

/* Values that a client gives or sees, as parts of index keys and back. */

static struct kx_slice take_part(struct kx_slice *parts)
{
    struct kx_slice part = kx_slice(parts->data, kx_part_size(*parts));
    *parts = kx_slice(parts->data + part.size, parts->size - part.size);
    return part;
}

static enum kx_status add_part(const struct declaration *declaration, size_t n,
                               struct kx_slice part, struct kx_buffer *key)
{
    size_t at = key->size;
    if (n >= declaration->field_count)
        return indexable_fold(part, FOLD_NONE, key);
    const struct field *field = &declaration->fields[n];
    enum kx_status status = indexable_fold(part, field->fold, key);
    if (status != KX_OK || key->failed)
        return status;
    if (field_of_value(field) && !declaration->signed_zero)
        indexable_unsign(key, at);
    return field->descending ? indexable_descend(key, at) : KX_OK;
}

enum kx_status extract_lookup(const struct declaration *declaration,
                              struct kx_slice parts, struct kx_buffer *key_out)
{
    enum kx_status status = KX_OK;
    kx_buffer_clear(key_out);
    kx_add_slice(key_out, declaration->name_key);
    for (size_t n = 0; status == KX_OK && parts.size > 0; n++) {
        struct kx_slice part = take_part(&parts);
        if (part.size == 0)
            return KX_BAD_KEY;
        status = add_part(declaration, n, part, key_out);
    }
    return key_out->failed ? KX_NO_MEMORY : status;
}

void extract_lookup_values(const struct declaration *declaration,
                           struct kx_slice parts, struct kx_buffer *out)
{
    for (size_t n = 0; n < declaration->field_count; n++) {
        struct kx_slice part = take_part(&parts);
        if (!declaration->fields[n].descending ||
            indexable_ascend(part, out) == KX_BAD_KEY)
            kx_add_slice(out, part);
    }
    kx_add_slice(out, parts);
}

/* ---- Records ------------------------------------------------------------ */

/* Projects the stored members of a V8 value that JSON cannot represent, through
 * its typed form. KX_ABSENT if it has no typed form. */
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

/* The number of a KvU64 counter: a sum of the whole value (an empty path). */
static enum kx_status add_counter(const struct record *record, size_t scale,
                                  struct kx_buffer *out)
{
    char digits[32];
    uint64_t number;
    memcpy(&number, record->value.data, sizeof number);
    snprintf(digits, sizeof digits, "%" PRIu64, le64toh(number));
    return totals_number(kx_text(digits), scale, out);
}

/* The bytes of the entry, as its key and value are stored. */
static enum kx_status add_size(const struct extract *extract,
                               struct kx_buffer *out)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%zu",
             extract->key.size + extract->record->value.size);
    return totals_number(kx_text(digits), 0, out);
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
    if (sum->of_sizes)
        status = add_size(extract, out);
    else if (record->encoding == KX_LE64 && sum->path.size == 0)
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

/* Makes the totals that an entry adds to each of its groups. An entry that
 * lacks one of the numbers adds nothing, so that count and sums cover the same
 * entries. KX_OK, KX_ABSENT with the obstacle, KX_NO_MEMORY. */
static enum kx_status extract_record_totals(struct extract *extract)
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
    case OBSTACLE_DUE:
        return "neither milliseconds since 1970 nor a time such as "
               "\"2031-02-03T04:05:06Z\" is at ";
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
