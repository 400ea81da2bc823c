/* Tombstones: rows of an index of changes that say that an entry is gone, or is
 * no longer in it. Such a row has the key that the entry had there, with the
 * versionstamp of the removal in place of its own, so it comes after all that
 * a reader of the index has seen before.
 *
 * A tombstone is removed when its time is up, and in the same batch the index's
 * history is raised to its stamp. So a reader that has seen everything up to a
 * stamp knows whether a removal after it may be missing. */
#include "catalog/row_form.h"
#include "plan/plan.h"

/* The versionstamp as the last part of a key before the owner: a string. */
enum { STAMP_PART = 1 + KX_STAMP_DIGITS + 1 };

/* The fields before the versionstamp, with the name. */
static struct kx_slice head_of(const struct extract *extract, size_t n)
{
    return kx_slice(extract_key(extract, n).data,
                    extract->keys[n].owner_at - STAMP_PART);
}

static bool has_head(const struct extract *extract, struct kx_slice head)
{
    for (size_t n = 0; n < extract->count; n++)
        if (kx_equal(head_of(extract, n), head))
            return true;
    return false;
}

/* An index that is built to replace this one may have a row there. */
static enum kx_status put_unread(struct plan *plan, const struct index *index,
                                 struct kx_slice key, struct kx_slice bytes)
{
    return catalog_shares_rows(plan->catalog, index)
               ? plan_row_put(plan, index, key, bytes)
               : overlay_put_unread(plan->overlay, key, bytes);
}

/* No row of the index has this key before: its stamp was not given yet. */
static enum kx_status put(struct plan *plan, struct index *index, size_t n)
{
    char digits[KX_STAMP_DIGITS];
    struct kx_slice head = head_of(&plan->before, n);
    struct kx_slice old = extract_key(&plan->before, n);
    size_t owner_at = plan->before.keys[n].owner_at;
    struct record row = {.encoding = KX_JSON,
                         .stamp = plan->stamp,
                         .expires_at_ms =
                             plan->now_ms + index->declaration->tombstones_ms,
                         .index = index->id,
                         .owner_at = (uint16_t)owner_at,
                         .deleted = true,
                         .odd = index->form.shows_odd};
    kx_stamp_text(plan->stamp, digits);
    plan->key.size = plan->record.size = 0;
    kx_add_slice(&plan->key, head);
    kx_key_add_string(&plan->key, kx_slice(digits, sizeof digits));
    kx_add(&plan->key, old.data + owner_at, old.size - owner_at);
    record_write(&row, &plan->record);
    if (plan->key.failed || plan->record.failed)
        return KX_NO_MEMORY;
    plan_count(plan, index, 1);
    plan_count_write(plan, index);
    return put_unread(plan, index, kx_buffer_slice(&plan->key),
                      kx_buffer_slice(&plan->record));
}

/* The history of an index that replaces another begins when it does. */
enum kx_status plan_tombstone(struct plan *plan, struct index *index, size_t n)
{
    if (index->declaration->tombstones_ms == 0 || index->replaces != 0 ||
        has_head(&plan->now, head_of(&plan->before, n)))
        return KX_OK;
    return put(plan, index, n);
}

bool plan_leaves_tombstone(const struct plan *plan, struct kx_slice key)
{
    for (size_t i = 0; i < plan->catalog->count; i++) {
        const struct index *index = plan->catalog->indexes[i];
        if (index->declaration->tombstones_ms != 0 && index_maintained(index) &&
            declaration_covers(index->declaration, key))
            return true;
    }
    return false;
}

/* Of a dropped index the drop removes the rows. */
static enum kx_status forget(struct plan *plan, struct kx_slice key,
                             int64_t expires_at_ms)
{
    struct record row;
    enum kx_status status = overlay_record(plan->overlay, key, &row);
    if (status != KX_OK)
        return status == KX_ABSENT ? KX_OK : status;
    catalog_pick_row(plan->catalog, &row);
    struct index *index = catalog_by_id(plan->catalog, row.index);
    if (!row.deleted || row.expires_at_ms != expires_at_ms || index == NULL)
        return KX_OK;
    plan_count_forgotten(plan, index, row.stamp);
    return plan_row_put(plan, index, key, kx_slice(NULL, 0));
}

enum kx_status plan_forget(struct plan *plan, struct kx_slice key,
                           int64_t expires_at_ms)
{
    plan->delta_count = 0;
    enum kx_status status = forget(plan, key, expires_at_ms);
    if (status != KX_OK) {
        overlay_undo(plan->overlay);
        return status;
    }
    overlay_keep(plan->overlay);
    plan_counts_keep(plan);
    return KX_OK;
}
