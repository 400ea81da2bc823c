/* Rebuilding of indexes that were made with another version of Unicode or with
 * other rules of extraction. A look-up may miss their entries, and entries may
 * be missing, so they are built again from the data. */
#include <inttypes.h>
#include <talloc.h>

#include "catalog/catalog.h"
#include "schema/extract.h"
#include "schema/casefold.h"

enum { CHANGED_MAX = 3 };

static struct index *find_outdated(const struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (catalog->indexes[i]->outdated)
            return catalog->indexes[i];
    return NULL;
}

/* The same declaration under a new id: rows with the old id belong to the
 * dropped index. */
static enum kx_status make_fresh(struct catalog *catalog,
                                 const struct index *old,
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
    return declaration_parse(fresh, old->declaration->text, &fresh->declaration,
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
    index->build.resume_size = 0;
}

/* A migration in progress ends: its successor is dropped as well. */
static enum kx_status rebuild(struct catalog *catalog, struct index *old)
{
    struct index *fresh = NULL;
    struct index *successor = catalog_successor(catalog, old);
    enum kx_status status = make_fresh(catalog, old, &fresh);
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

enum kx_status catalog_rebuild(struct catalog *catalog)
{
    struct index *old = find_outdated(catalog);
    enum kx_status status = KX_OK;
    if (old == NULL)
        return KX_OK;
    for (; status == KX_OK && old != NULL; old = find_outdated(catalog))
        status = rebuild(catalog, old);
    return status == KX_OK ? engine_flush(catalog->engine) : status;
}
