/* The beginning of a verification. Its state lies with the index in the
 * catalog, so it continues after a restart. */
#include "indexes/verify.h"

#include <talloc.h>

#include "commit/batch.h"
#include "bdb/table.h"
#include "indexes/verify_job.h"

/* About how many entries there are under the prefix of the index. */
static uint64_t estimate(struct kx_store *store, const struct index *index,
                         const void *mem)
{
    struct kx_buffer start;
    struct kx_buffer end;
    const struct catalog *catalog = store->catalog;
    uint64_t rows = catalog->entries;
    for (size_t i = 0; i < catalog->count; i++)
        rows += catalog->indexes[i]->entries;
    kx_buffer_init(&start, mem);
    kx_buffer_init(&end, mem);
    kx_add_slice(&start, index->declaration->prefix);
    kx_add_byte(&start, 0);
    kx_add_slice(&end, index->declaration->prefix);
    kx_add_byte(&end, 0xff);
    if (start.failed || end.failed)
        return 0;
    double share = table_share(store->env, TABLE_ENTRIES,
                               kx_buffer_slice(&start), kx_buffer_slice(&end));
    return (uint64_t)((double)rows * share);
}

static enum kx_status begin(struct kx_store *store, struct kx_commit *commit,
                            struct index *index, uint64_t *number_out)
{
    struct verify_report *verification =
        talloc_zero(index, struct verify_report);
    if (verification == NULL)
        return KX_NO_MEMORY;
    verification->report = (struct kx_verification){
        .running = true,
        .repair = commit->repair,
        .started_at_ms = kx_now_ms(),
        .total = index->entries + estimate(store, index, commit->memory)};
    verification->writes = atomic_load(&index->use.writes);
    verification->counts = true;
    struct batch batch = {.action = CATALOG_VERIFY,
                          .index = index,
                          .verification = verification,
                          .durable = true};
    enum kx_status status = batch_apply(store, &batch, number_out);
    talloc_free(batch.verification);
    commit->created = status == KX_OK;
    return status;
}

static struct index *find(const struct kx_store *store,
                          struct kx_commit *commit)
{
    struct kx_slice name = commit->index_name;
    struct index *index = catalog_named(store->catalog, commit);
    if (index == NULL || verify_possible(index))
        return index;
    commit->status =
        kx_fail(&commit->refusal.fault, KX_INDEX_NOT_READY,
                "index %.*s cannot be verified while it is built, conflicted "
                "or failed, adopts entries or migrates",
                (int)name.size, (const char *)name.data);
    return NULL;
}

void verify_begin(struct kx_store *store, struct kx_commit *commit,
                  uint64_t *number_out)
{
    struct index *index = find(store, commit);
    if (index == NULL)
        return;
    const struct verify_report *present = index->verification;
    bool goes_on = present != NULL && present->report.running &&
                   (present->report.repair || !commit->repair);
    if (!goes_on)
        commit->status = begin(store, commit, index, number_out);
    commit->stamp = store->catalog->stamp;
}
