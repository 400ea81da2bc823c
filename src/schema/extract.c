/* Computes the keys of an entry's index entries. A key is [name, fields...] for
 * a unique index, otherwise [name, fields..., parts of the owner]. In that case
 * the record does not repeat the owner, which is found in the key.
 *
 * A field with `each` gives a key for each element. The parts of the key before
 * and after the element are computed once. */
#include "schema/extract.h"

#include <stdlib.h>
#include <talloc.h>

#include "json/json_find.h"
#include "schema/indexable.h"
#include "schema/predicate.h"

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

/* Turns the part of field n, which begins at `at`, over if greater values come
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

/* Only what is beyond ASCII takes time, and escapes, most of which are. */
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

static enum kx_status add_field(struct extract *extract, size_t n,
                                struct kx_buffer *out)
{
    const struct field *field = &extract->declaration->fields[n];
    struct kx_slice token;
    if (field->versionstamp)
        return add_versionstamp(extract, out);
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
    return extract->sought.size != 0 && !kx_equal(extract->sought, key);
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
 * `head` bytes of bytes, the parts after it are in scratch. KX_ABSENT: the
 * element is left out. */
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

/* The number of remaining elements. */
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

/* The array of the field with `each`. With `missing` null, nothing and null are
 * an array of one null. */
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
    extract->sought = kx_slice(NULL, 0);
    extract->document = kx_slice(NULL, 0);
    extract->bytes.size = 0;
    extract->stored.size = 0;
    extract->count = 0;
    extract->excluded = false;
    extract->obstacle = OBSTACLE_NONE;
}

/* An entry with too many elements is refused even with `missing` skip:
 * otherwise some of its elements would be found and others not. */
static enum kx_status judge(struct extract *extract, enum kx_status status)
{
    if (status == KX_NO_MEMORY)
        return status;
    if (extract->obstacle == OBSTACLE_NONE ||
        (extract->declaration->missing != MISSING_ERROR &&
         extract->obstacle != OBSTACLE_TOO_MANY))
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
    extract->sought = index_key;
    enum kx_status status = make_keys(extract);
    return status == KX_OK && extract->count == 0 ? KX_NOT_INDEXABLE : status;
}
