/* Keeping the totals of aggregate indexes in step with the entries. A row
 * counts every entry that is stored, also one that has expired: what removes
 * that entry changes the row, and readers leave it out until then
 * (read/reader_totals.c).
 *
 * While such an index is built, its rows hold what the build has read so far. A
 * commit that changes an entry which the build has yet to read leaves them as
 * they are. */
#include "catalog/row_form.h"
#include "plan/plan_aggregate.h"
#include "plan/plan_cost.h"

#include "plan/plan_refuse.h"
#include "schema/totals.h"

/* The row that the index has for this group; KX_ABSENT, and no totals: there is
 * none, or one that a dropped index of the same name has left. */
static enum kx_status find_row(struct plan *plan, const struct index *index,
                               struct kx_slice group, struct record *row_out)
{
    enum kx_status status = overlay_record(plan->overlay, group, row_out);
    if (status == KX_OK && row_form_of(row_out, index->id))
        return KX_OK;
    *row_out = (struct record){.index = 0};
    return status == KX_OK ? KX_ABSENT : status;
}

static enum kx_status put_row(struct plan *plan, const struct index *index,
                              struct kx_slice group, struct kx_slice totals)
{
    struct record row = {.encoding = KX_JSON,
                         .stamp = plan->stamp,
                         .index = index->id,
                         .value = totals};
    plan->record.size = 0;
    record_write(&row, &plan->record);
    return plan->record.failed ? KX_NO_MEMORY
                               : plan_row_put(plan, index, group,
                                              kx_buffer_slice(&plan->record));
}

/* A row that is damaged or missing is left to verification: it must not keep
 * the entry from being removed. */
enum kx_status plan_aggregate_add(struct plan *plan, struct index *index,
                                  struct kx_slice group, struct kx_slice totals,
                                  bool negate)
{
    struct record row;
    uint64_t count = 0;
    charge_add(&plan->charge, 1, CHARGE_READ); /* adding up numbers as texts */
    enum kx_status status = find_row(plan, index, group, &row);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    bool is_new = status == KX_ABSENT;
    kx_buffer_clear(&plan->group_totals);
    status = totals_add(row.value, totals, negate, &plan->group_totals, &count);
    if (status != KX_OK)
        return status == KX_NO_MEMORY ? status : KX_OK;
    if (is_new || count == 0)
        plan_count(plan, index, is_new ? 1 : -1);
    plan_count_write(plan, index);
    return count == 0 ? plan_row_put(plan, index, group, kx_slice(NULL, 0))
                      : put_row(plan, index, group,
                                kx_buffer_slice(&plan->group_totals));
}

static enum kx_status add_all(struct plan *plan, struct index *index,
                              const struct extract *extract, bool negate)
{
    enum kx_status status = KX_OK;
    for (size_t n = 0; status == KX_OK && n < extract->count; n++)
        status = plan_aggregate_add(plan, index, extract_key(extract, n),
                                    extract_totals(extract), negate);
    return status;
}

/* Is what the entry adds still the same, under the same keys? */
static bool is_same(const struct extract *a, const struct extract *b)
{
    if (a->count != b->count || !kx_equal(extract_totals(a), extract_totals(b)))
        return false;
    size_t n = 0;
    while (n < a->count && kx_equal(extract_key(a, n), extract_key(b, n)))
        n++;
    return n == a->count;
}

/* Has the build of the index read this entry, or would it have? */
static bool has_read(const struct index *index, struct kx_slice key)
{
    const struct build_progress *build = &index->build;
    return index->state != KX_INDEX_BUILDING ||
           kx_compare(key, row_position_key(&build->resume)) <= 0;
}

/* Makes the keys and totals of the entry as it was and as it is. An entry that
 * could not be indexed when the index was declared is in no group. */
static enum kx_status extract_both(struct plan *plan, const struct index *index,
                                   const struct change *change)
{
    struct record record;
    enum kx_status status = KX_OK;
    plan->before.count = 0;
    plan->now.count = 0;
    if (plan_client_record(change->before, &record))
        status = extract_keys(&plan->before, index->declaration, change->key,
                              &record);
    if (status == KX_NO_MEMORY || !plan_client_record(change->now, &record))
        return status == KX_NOT_INDEXABLE ? KX_OK : status;
    status = extract_keys(&plan->now, index->declaration, change->key, &record);
    return status == KX_NOT_INDEXABLE
               ? plan_refuse_unindexable(plan->commit, index, &plan->now)
               : status;
}

static enum kx_status update(struct plan *plan, struct index *index,
                             const struct change *change)
{
    enum kx_status status = extract_both(plan, index, change);
    if (status != KX_OK || is_same(&plan->before, &plan->now) ||
        !has_read(index, change->key))
        return status;
    plan_prefetch_rows(plan);
    status = add_all(plan, index, &plan->before, true);
    return status == KX_OK ? add_all(plan, index, &plan->now, false) : status;
}

static enum kx_status update_all(struct plan *plan, struct index *index,
                                 size_t count)
{
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < count; i++) {
        struct change change = overlay_change(plan->overlay, i);
        if (declaration_covers(index->declaration, change.key))
            status = update(plan, index, &change);
        if (status == KX_OK)
            status = plan_afford(plan);
    }
    return status;
}

enum kx_status plan_aggregate_all(struct plan *plan, size_t count)
{
    const struct catalog *catalog = plan->catalog;
    enum kx_status status = KX_OK;
    for (size_t n = 0; status == KX_OK && n < catalog->count; n++) {
        struct index *index = catalog->indexes[n];
        if (declaration_aggregates(index->declaration) &&
            index_maintained(index))
            status = update_all(plan, index, count);
    }
    return status;
}
