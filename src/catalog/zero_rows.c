/* Looks for -0 in the rows of an index by jumps: within the rows that have the
 * same parts before the last field of the value, -0 has one place. So an index
 * of one field costs two look-ups, however large it is. */
#include "catalog/zero_rows.h"

#include <talloc.h>

#include "schema/indexable.h"

/* Look-ups in one index; when the store is opened they take some milliseconds.
 */
enum { LOOKUPS_MAX = 1000 };

struct zero_search {
    const struct declaration *declaration;
    size_t fields;                        /* up to the last one of the value */
    struct kx_slice zeros[KX_FIELDS_MAX]; /* the part for -0 in each field */
    struct kx_buffer place;               /* where to look next */
    struct kx_buffer end;
};

static bool compares_with_zero(const struct declaration *declaration)
{
    for (size_t i = 0; i < declaration->where_count; i++)
        for (size_t n = 0; n < declaration->where[i].value_count; n++)
            if (indexable_is_zero(declaration->where[i].values[n]))
                return true;
    return false;
}

/* Size 0: no memory. */
static struct kx_slice zero_of(void *mem, const struct field *field)
{
    struct kx_buffer zero;
    kx_buffer_init(&zero, mem);
    enum kx_status status = kx_key_add_number(&zero, -0.0);
    if (status == KX_OK && field->descending)
        status = indexable_descend(&zero, 0);
    return status == KX_OK ? kx_buffer_slice(&zero) : kx_slice(NULL, 0);
}

static enum kx_status begin(void *mem, const struct declaration *declaration,
                            struct zero_search *search)
{
    bool starved = false;
    *search = (struct zero_search){.declaration = declaration};
    for (size_t n = 0; n < declaration->field_count; n++) {
        search->zeros[n] = zero_of(mem, &declaration->fields[n]);
        starved |= search->zeros[n].size == 0;
        if (field_of_value(&declaration->fields[n]))
            search->fields = n + 1;
    }
    kx_buffer_init(&search->place, mem);
    kx_buffer_init(&search->end, mem);
    kx_add_slice(&search->place, declaration->name_key);
    kx_add_slice(&search->end, declaration->name_key);
    kx_add_byte(&search->end, 0xff);
    starved |= search->place.failed | search->end.failed;
    return starved ? KX_NO_MEMORY : KX_OK;
}

/* Looks at one row. True: it has -0. Otherwise the next place is set: -0 in the
 * last field after the same parts, or what comes after these parts. */
static bool has_zero(struct zero_search *search, struct kx_slice key)
{
    size_t at = search->declaration->name_key.size;
    struct kx_slice part = kx_slice(NULL, 0);
    for (size_t n = 0; n < search->fields; n++) {
        at += part.size;
        part = kx_slice(key.data + at, key.size - at);
        part.size = kx_part_size(part);
        if (field_of_value(&search->declaration->fields[n]) &&
            kx_equal(part, search->zeros[n]))
            return true;
    }
    struct kx_slice zero = search->zeros[search->fields - 1];
    search->place.size = 0;
    kx_add(&search->place, key.data, at);
    if (kx_compare(part, zero) < 0)
        kx_add_slice(&search->place, zero);
    else
        kx_add_byte(&search->place, 0xff);
    return false;
}

/* Looks at the next row. KX_END after the last one. */
static enum kx_status look(struct zero_search *search,
                           struct engine_range *range, bool *found_out)
{
    struct kx_slice key;
    struct kx_slice row;
    struct kx_slice place = kx_buffer_slice(&search->place);
    struct kx_slice end = kx_buffer_slice(&search->end);
    if (kx_compare(place, end) >= 0)
        return KX_END;
    enum kx_status status = engine_range_begin(range, place, end);
    if (status == KX_OK)
        status = engine_range_next(range, &key, &row);
    if (status == KX_OK)
        *found_out = has_zero(search, key);
    engine_range_end(range);
    return search->place.failed ? KX_NO_MEMORY : status;
}

static enum kx_status find(void *mem, const struct catalog *catalog,
                           struct zero_search *search, bool *found_out)
{
    struct engine_range *range;
    enum kx_status status =
        engine_range_create(mem, catalog->view, TABLE_ENTRIES, &range);
    for (int n = 0; status == KX_OK && !*found_out && n < LOOKUPS_MAX; n++)
        status = look(search, range, found_out);
    *found_out = status == KX_OK;
    return status == KX_END ? KX_OK : status;
}

enum kx_status zero_rows_differ(const struct catalog *catalog,
                                const struct index *index, bool *differ_out)
{
    struct zero_search search;
    void *mem = talloc_new(NULL);
    if (mem == NULL)
        return KX_NO_MEMORY;
    *differ_out = compares_with_zero(index->declaration);
    enum kx_status status = begin(mem, index->declaration, &search);
    if (status == KX_OK && !*differ_out && search.fields > 0)
        status = find(mem, catalog, &search, differ_out);
    talloc_free(mem);
    return status;
}
