/* Rebuilding of indexes that were made with another version of Unicode or with
 * other rules of extraction. A look-up may miss their entries, and entries may
 * be missing, so they are built again from the data.
 *
 * An index in which -0 is another value than 0 (EXTRACT_SIGNED_ZERO) stays
 * right by its rules, which this program knows. If it holds no -0 it only takes
 * on the present rules. Otherwise it migrates: another index is built beside
 * it, and replaces it unless 0 and -0 are then duplicates. */
#include <inttypes.h>
#include <talloc.h>

#include "catalog/catalog.h"
#include "catalog/zero_rows.h"
#include "schema/casefold.h"

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

/* Is the index one that would now be built by other rules, and is nothing done
 * about it yet? */
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
    enum kx_status status = zero_rows_differ(catalog, index, &differs);
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
