/* Rebuilding of indexes that were made with another version of Unicode or with
 * other rules of extraction. A look-up may miss their entries, and entries may
 * be missing, so they are built again from the data.
 *
 * An index in which -0 and 0 are different values (EXTRACT_SIGNED_ZERO) stays
 * right by its rules, which this program knows. If it holds no -0 it only takes
 * on the present rules. Otherwise it migrates: another index is built beside
 * it, and replaces it unless 0 and -0 are then duplicates. */
#include <inttypes.h>
#include <talloc.h>

#include "catalog/catalog.h"
#include "schema/casefold.h"
#include "schema/indexable.h"

enum { CHANGED_MAX = 3 };

static struct index *find_outdated(const struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (catalog->indexes[i]->outdated)
            return catalog->indexes[i];
    return NULL;
}

/* An index with this declaration under a new id: rows with the old id belong to
 * the old index. */
static enum kx_status make_fresh(struct catalog *catalog,
                                 const struct index *old,
                                 const struct declaration *declaration,
                                 struct index **fresh_out)
{
    struct index *fresh = talloc_zero(catalog, struct index);
    if (fresh == NULL)
        return KX_NO_MEMORY;
    fresh->state = KX_INDEX_BUILDING;
    fresh->build.total = old->entries;
    fresh->build.started_at_ms = kx_now_ms();
    fresh->id = ++catalog->last_id;
    fresh->history = catalog->stamp;
    fresh->pace = old->pace;
    fresh->adoption.asked = index_adopts(old);
    *fresh_out = fresh;
    return declaration_parse(fresh, declaration->text, &fresh->declaration,
                             NULL);
}

/* In one transaction, so that no crash leaves the name without an index. */
static enum kx_status store_all(struct catalog *catalog,
                                struct index *const *changed, size_t count)
{
    void *mem = talloc_new(NULL);
    struct row_write writes[CHANGED_MAX + 1];
    bool good = mem != NULL;
    for (size_t i = 0; good && i < count; i++)
        good = catalog_index_write(mem, changed[i], &writes[i]);
    good = good && catalog_facts_write(mem, catalog, &writes[count]);
    enum kx_status status =
        good ? engine_apply(
                   catalog->engine,
                   &(struct engine_batch){.writes = writes, .count = count + 1})
             : KX_NO_MEMORY;
    talloc_free(mem);
    return status;
}

static void drop(struct catalog *catalog, struct index *index)
{
    catalog_drop(catalog, index);
    index->build.resume.size = 0;
}

/* A migration in progress ends: its successor is dropped as well. */
static enum kx_status rebuild(struct catalog *catalog, struct index *old)
{
    struct index *fresh = NULL;
    struct index *successor = catalog_successor(catalog, old);
    enum kx_status status = make_fresh(catalog, old, old->declaration, &fresh);
    if (status != KX_OK)
        return status;
    drop(catalog, old);
    if (successor != NULL)
        drop(catalog, successor);
    catalog_add(catalog, fresh);
    kx_log(KX_LOG_INFO, "index-outdated",
           "index=%s unicode=%s extraction=%d entries=%" PRIu64
           " action=rebuild",
           fresh->declaration->name_text, casefold_unicode_version(),
           EXTRACT_VERSION, old->entries);
    struct index *changed[CHANGED_MAX] = {old, fresh, successor};
    return store_all(catalog, changed, successor == NULL ? 2 : 3);
}

/* ---- -0 and 0 ----------------------------------------------------------- */

/* Searches the rows of an index for -0 by skip-scan: among the rows that have
 * the same parts before the last field of the value, -0 has one place. So an
 * index of one field costs two look-ups, however large it is. */

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

/* Checks one row. True if it has -0. Otherwise sets the next place to search:
 * -0 in the last field after the same parts, or the first key after these
 * parts. */
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

/* Checks the next row. KX_END after the last one. */
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

/* Sets *differ_out. It is false only if the rows are the same: no row has -0 in
 * a field of the value, and no condition compares with 0. Large indexes of
 * several fields are not read to the end; for them it is true. KX_OK,
 * KX_NO_MEMORY, errors of the storage. */
static enum kx_status find_zeros(const struct catalog *catalog,
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

/* Reads one of the declarations of an index again, by the present rules. */
static enum kx_status renew_declaration(struct index *index,
                                        struct declaration **declaration)
{
    struct declaration *renewed = NULL;
    if (*declaration == NULL)
        return KX_OK;
    enum kx_status status =
        declaration_parse(index, (*declaration)->text, &renewed, NULL);
    if (status != KX_OK)
        return status;
    talloc_free(*declaration);
    *declaration = renewed;
    return KX_OK;
}

/* The rows of the index are as the present rules would make them. */
static enum kx_status renew(struct catalog *catalog, struct index *index)
{
    enum kx_status status = renew_declaration(index, &index->form.target);
    if (status == KX_OK)
        status = renew_declaration(index, &index->form.failed);
    if (status == KX_OK)
        status = renew_declaration(index, &index->declaration);
    return status == KX_OK ? store_all(catalog, &index, 1) : status;
}

/* Builds an index by the present rules beside one that can be read meanwhile. A
 * migration that is under way begins again. */
static enum kx_status replace(struct catalog *catalog, struct index *old)
{
    struct index *fresh = NULL;
    struct index *successor = catalog_successor(catalog, old);
    const struct declaration *wanted = old->declaration;
    if (successor != NULL)
        wanted = successor->declaration;
    else if (old->form.target != NULL)
        wanted = old->form.target;
    enum kx_status status = make_fresh(catalog, old, wanted, &fresh);
    if (status != KX_OK)
        return status;
    fresh->replaces = old->id;
    TALLOC_FREE(old->form.target);
    if (successor != NULL)
        drop(catalog, successor);
    catalog_add(catalog, fresh);
    kx_log(KX_LOG_INFO, "index-outdated",
           "index=%s extraction=%d entries=%" PRIu64 " action=migrate",
           fresh->declaration->name_text, EXTRACT_VERSION, old->entries);
    struct index *changed[CHANGED_MAX] = {old, fresh, successor};
    return store_all(catalog, changed, successor == NULL ? 2 : 3);
}

/* A successor counts as one more index. */
static bool has_room(const struct catalog *catalog)
{
    return catalog->count + catalog->dropping_count < KX_INDEXES_MAX;
}

/* True if the index would now be built by other rules, and no successor is
 * being built by these yet. */
static bool is_signed(const struct catalog *catalog, const struct index *index)
{
    const struct index *successor = catalog_successor(catalog, index);
    return index->declaration->signed_zero &&
           (successor == NULL || successor->declaration->signed_zero);
}

static struct index *find_signed(const struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (is_signed(catalog, catalog->indexes[i]))
            return catalog->indexes[i];
    return NULL;
}

static enum kx_status unsign(struct catalog *catalog, struct index *index)
{
    bool differs = false;
    struct index *old = catalog_by_id(catalog, index->replaces);
    enum kx_status status = find_zeros(catalog, index, &differs);
    if (status != KX_OK)
        return status;
    if (!differs)
        return renew(catalog, index);
    if (old != NULL)
        return replace(catalog, old);
    return index_readable(index) && has_room(catalog) ? replace(catalog, index)
                                                      : rebuild(catalog, index);
}

/* ---- All ---------------------------------------------------------------- */

/* KX_END: nothing is left to be done. */
static enum kx_status rebuild_next(struct catalog *catalog)
{
    struct index *old = find_outdated(catalog);
    if (old != NULL)
        return rebuild(catalog, old);
    old = find_signed(catalog);
    return old != NULL ? unsign(catalog, old) : KX_END;
}

enum kx_status catalog_rebuild(struct catalog *catalog)
{
    enum kx_status status = rebuild_next(catalog);
    if (status == KX_END)
        return KX_OK;
    while (status == KX_OK)
        status = rebuild_next(catalog);
    return status == KX_END ? engine_flush(catalog->engine) : status;
}
