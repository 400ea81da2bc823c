/* A catalog that follows the rows of another process. The rows from "facts" to
 * those of the indexes are neighbours, so one scan shows whether the catalog
 * has to be made again. Only the counts change with every batch. */
#include <talloc.h>

#include "catalog/catalog.h"
#include "catalog/format_rows.h"

/* '0' is the byte after '/'. */
static enum kx_status scan(void *mem, struct engine_view *view,
                           struct catalog_mark *mark_out,
                           struct kx_buffer *facts_out)
{
    struct engine_range *range = NULL;
    struct sha256 digest;
    struct kx_slice key;
    struct kx_slice row;
    enum kx_status status =
        engine_range_create(mem, view, TABLE_CATALOG, &range);
    if (status != KX_OK)
        return status;
    sha256_begin(&digest);
    status = engine_range_begin(range, kx_text("facts"), kx_text("index0"));
    while (status == KX_OK) {
        status = engine_range_next(range, &key, &row);
        if (status == KX_OK && kx_equal(key, kx_text("facts"))) {
            kx_add_slice(facts_out, row);
        } else if (status == KX_OK) {
            sha256_add(&digest, key);
            sha256_add(&digest, row);
        }
    }
    engine_range_end(range);
    talloc_free(range);
    sha256_end(&digest, mark_out->digest);
    if (status != KX_END)
        return status;
    return facts_out->failed ? KX_NO_MEMORY : KX_OK;
}

static enum kx_status check_format(struct engine_view *view,
                                   struct kx_fault *fault)
{
    unsigned long number;
    enum kx_status status = format_read(view, &number, fault);
    if (status == KX_ABSENT)
        return kx_fail(fault, KX_BAD_DIRECTORY, "it has no store yet");
    if (status == KX_OK && number != FORMAT_NUMBER)
        return kx_fail(fault, KX_BAD_DIRECTORY,
                       "its rows have the older format %lu, which the active "
                       "node replaces when it starts",
                       number);
    return status;
}

/* Resets the counts first, because the row omits numbers that are 0. */
static void read_counts(struct catalog *catalog, struct kx_slice facts)
{
    for (size_t i = 0; i < catalog->count; i++) {
        struct index *index = catalog->indexes[i];
        index->entries = index->conflicts = index->history = 0;
    }
    catalog_read_facts(catalog, facts);
}

/* A look-up may miss rows that another version of the rules has made. */
static void hide_outdated(struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (catalog->indexes[i]->outdated)
            catalog->indexes[i]->state = KX_INDEX_BUILDING;
}

static enum kx_status make(void *mem, struct engine_view *view,
                           struct catalog **catalog_out, struct kx_fault *fault)
{
    enum kx_status status = check_format(view, fault);
    if (status != KX_OK)
        return status;
    struct catalog *catalog = talloc_zero(mem, struct catalog);
    if (catalog == NULL)
        return KX_NO_MEMORY;
    catalog->view = view;
    status = catalog_read_rows(catalog);
    hide_outdated(catalog);
    if (status == KX_OK)
        *catalog_out = catalog;
    else
        talloc_free(catalog);
    return status;
}

enum kx_status catalog_follow(void *mem, struct engine_view *view,
                              struct catalog **catalog,
                              struct catalog_mark *mark, struct kx_fault *fault)
{
    struct catalog_mark now;
    struct kx_buffer facts;
    kx_buffer_init(&facts, mem);
    enum kx_status status = scan(mem, view, &now, &facts);
    if (status == KX_OK && *catalog != NULL &&
        strcmp(now.digest, mark->digest) == 0) {
        read_counts(*catalog, kx_buffer_slice(&facts));
    } else if (status == KX_OK) {
        TALLOC_FREE(*catalog);
        *mark = now;
        status = make(mem, view, catalog, fault);
    }
    kx_buffer_free(&facts);
    return status;
}
