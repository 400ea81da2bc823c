/* Changes the entries of a range, in the order of their keys or of an index.
 * The range is read from the table, not from the overlay, in which nothing has
 * changed yet: such a commit begins its batch. Expired entries are left to
 * expiry and do not count. */
#include "plan/plan_range.h"

#include <talloc.h>

#include "catalog/row_form.h"
#include "plan/plan_cost.h"
#include "plan/plan_job.h"
#include "plan/plan_mutate.h"
#include "plan/plan_read.h"

struct range_walk {
    struct plan *plan;
    const struct kx_mutation *mutation;
    struct index *index; /* NULL: in the order of keys */
    struct kx_buffer start;
    struct kx_buffer end;
    struct kx_buffer row;  /* the present row of the table */
    struct kx_buffer key;  /* of the entry that it represents */
    struct kx_buffer last; /* the row before */
    uint64_t index_units;  /* units for the index entries of what has changed */
};

static struct kx_slice name_of(const struct range_walk *walk)
{
    return walk->index == NULL ? kx_slice(NULL, 0)
                               : walk->index->declaration->name_key;
}

/* No key lies between a position and the same position with a zero byte. */
static bool set_bounds(struct range_walk *walk)
{
    const struct kx_mutation *mutation = walk->mutation;
    bool continues = mutation->after.size > 0;
    kx_add_slice(&walk->start, name_of(walk));
    kx_add_slice(&walk->start, continues ? mutation->after : mutation->key);
    if (continues)
        kx_add_byte(&walk->start, 0x00);
    kx_add_slice(&walk->end, name_of(walk));
    kx_add_slice(&walk->end, mutation->end);
    if (walk->index != NULL && mutation->end.size == 0)
        kx_add_byte(&walk->end, 0xff);
    return !walk->start.failed && !walk->end.failed;
}

/* The index, perhaps a dropped one, that the range's present row belongs to, or
 * NULL. A change of a range leaves index entries alone. */
static const struct index *index_at(const struct plan *plan,
                                    struct kx_slice key, struct kx_slice bytes)
{
    const struct index *owner = catalog_owner(plan->catalog, key);
    if (owner == NULL && record_of_index(bytes))
        owner = catalog_sole_owner(plan->catalog, key);
    return owner;
}

/* Continues after the keys that begin with these parts, since they may be many.
 */
static enum kx_status pass_over(struct range_walk *walk, struct kx_slice parts)
{
    walk->key.size = 0;
    kx_add_slice(&walk->key, parts);
    kx_add_byte(&walk->key, 0xff);
    if (walk->key.failed)
        return KX_NO_MEMORY;
    if (kx_compare(kx_buffer_slice(&walk->key), kx_buffer_slice(&walk->end)) >=
        0)
        return KX_END;
    enum kx_status status =
        engine_range_begin(walk->plan->range, kx_buffer_slice(&walk->key),
                           kx_buffer_slice(&walk->end));
    return status == KX_OK ? KX_ABSENT : status;
}

/* KX_OK if the job of a queue's row is due. Otherwise no later job with these
 * leading values is due either: the range continues after them, KX_ABSENT. */
static enum kx_status is_due(struct range_walk *walk, struct kx_slice key,
                             const struct record *row)
{
    struct extract_due due;
    if (!extract_due(key, row, &due))
        return KX_FAILED;
    if (due.ms <= walk->plan->now_ms)
        return KX_OK;
    int64_t *next_ms = &walk->plan->commit->next_due_ms;
    if (due.ms < KX_JOB_DEAD_MS && (*next_ms == 0 || due.ms < *next_ms))
        *next_ms = due.ms;
    return pass_over(walk, due.group);
}

static enum kx_status entry_of_row(struct range_walk *walk, struct kx_slice key,
                                   struct kx_slice bytes)
{
    struct record row;
    if (!record_read(bytes, &row))
        return KX_FAILED;
    walk->row.size = 0;
    kx_add_slice(&walk->row, key);
    if (walk->row.failed)
        return KX_NO_MEMORY;
    uint32_t owner = walk->index == NULL ? 0 : walk->index->id;
    if (!row_form_of(&row, owner) || row.deleted ||
        record_expired(&row, walk->plan->now_ms))
        return KX_ABSENT;
    enum kx_status status =
        walk->mutation->type == KX_CLAIM ? is_due(walk, key, &row) : KX_OK;
    if (status != KX_OK)
        return status;
    walk->key.size = 0;
    if (walk->index == NULL) {
        kx_add_slice(&walk->key, key);
    } else {
        kx_add_slice(&walk->key, walk->index->declaration->prefix);
        kx_add_slice(&walk->key, record_owner(&row, key));
    }
    return walk->key.failed ? KX_NO_MEMORY : KX_OK;
}

/* Reads the entry of the next row. KX_ABSENT: a list would not show the row, or
 * the commit has already changed its entry. */
static enum kx_status next_entry(struct range_walk *walk)
{
    struct plan *plan = walk->plan;
    struct kx_slice key;
    struct kx_slice bytes;
    walk->row.size = 0;
    enum kx_status status = engine_range_next(plan->range, &key, &bytes);
    if (status != KX_OK)
        return status;
    charge_add(&plan->charge, 1, CHARGE_READ);
    charge_add(&plan->charge, bytes.size, CHARGE_PASSED);
    const struct index *index =
        walk->index == NULL ? index_at(plan, key, bytes) : NULL;
    if (index != NULL)
        return pass_over(walk, index->declaration->name_key);
    status = entry_of_row(walk, key, bytes);
    if (status != KX_OK)
        return status;
    return overlay_changes(plan->overlay, kx_buffer_slice(&walk->key))
               ? KX_ABSENT
               : KX_OK;
}

/* True if the cost so far, with that of the index entries to come, exceeds the
 * budget. */
static bool is_spent(const struct range_walk *walk)
{
    const struct charge *charge = &walk->plan->charge;
    return charge->spent + walk->index_units > charge->most;
}

/* The range continues after this row. */
static enum kx_status pass_row(struct range_walk *walk)
{
    walk->last.size = 0;
    kx_add_slice(&walk->last, kx_buffer_slice(&walk->row));
    return walk->last.failed ? KX_NO_MEMORY : KX_OK;
}

/* KX_OK if the row is the first one of its entry in the whole range; KX_ABSENT
 * if an earlier row of the entry has been passed, perhaps in an earlier commit.
 */
static enum kx_status is_first(struct range_walk *walk)
{
    struct plan *plan = walk->plan;
    struct extract *extract = &plan->before;
    struct record record;
    struct kx_slice key = kx_buffer_slice(&walk->key);
    struct kx_slice row = kx_buffer_slice(&walk->row);
    size_t skip = name_of(walk).size;
    if (walk->index == NULL || !walk->index->declaration->has_each)
        return KX_OK;
    enum kx_status status = overlay_record(plan->overlay, key, &record);
    if (status == KX_OK)
        status = extract_keys(extract, walk->index->declaration, key, &record);
    for (size_t n = 0; status == KX_OK && n < extract->count; n++) {
        struct kx_slice at = extract_key(extract, n);
        if (kx_compare(at, row) >= 0)
            break;
        at = kx_slice(at.data + skip, at.size - skip);
        if (kx_compare(at, walk->mutation->key) >= 0)
            status = KX_ABSENT;
    }
    return status;
}

/* Names the entry of the range that has refused the mutation. */
static void name_entry(struct kx_commit *commit, struct kx_slice key)
{
    kx_slice_copy(commit->memory, key, &commit->refusal.attempted_key);
}

static enum kx_status patch_entry(struct range_walk *walk)
{
    struct kx_commit *commit = walk->plan->commit;
    struct kx_mutation mutation = *walk->mutation->each;
    enum kx_status status = is_first(walk);
    if (status != KX_OK)
        return status;
    mutation.key = kx_buffer_slice(&walk->key);
    status = plan_mutate(walk->plan, &mutation);
    if (status != KX_OK)
        name_entry(commit, mutation.key);
    return status;
}

/* KX_OK if the entry and its index entries are within the budget. Otherwise its
 * change is undone: KX_AGAIN. The first entry must fit alone, except for a
 * deletion. */
static enum kx_status afford_entry(struct range_walk *walk)
{
    struct plan *plan = walk->plan;
    uint64_t units = 0;
    size_t count = overlay_change_count(plan->overlay);
    struct change change = overlay_change(plan->overlay, count - 1);
    enum kx_status status = plan_cost_change(plan, &change, &units);
    walk->index_units += units;
    if (status != KX_OK || !is_spent(walk))
        return status;
    if (count > 1) {
        walk->index_units -= units;
        overlay_undo_last(plan->overlay);
        return KX_AGAIN;
    }
    if (walk->mutation->type == KX_DELETE_RANGE)
        return KX_OK;
    name_entry(plan->commit, kx_buffer_slice(&walk->key));
    plan->charge.spent += walk->index_units;
    return plan_afford(plan);
}

/* A patch that is too expensive after others is left for the next commit. */
static enum kx_status leave_for_next(struct range_walk *walk,
                                     enum kx_status status)
{
    struct kx_refusal *refusal = plan_refusal(walk->plan);
    if (status != KX_COMMIT_TOO_LARGE || walk->plan->commit->in_range == 0)
        return status;
    kx_fault_clear(&refusal->fault);
    refusal->attempted_key = kx_slice(NULL, 0);
    return KX_AGAIN;
}

/* Adds the changed entry to the results of the commit. */
static enum kx_status return_entry(struct plan *plan, struct kx_slice key)
{
    struct kx_entry *entry = plan->commit->entries + plan->commit->in_range;
    struct record record;
    enum kx_status status = overlay_record(plan->overlay, key, &record);
    if (status != KX_OK)
        return status;
    record_show(&record, key, entry);
    if (plan->commit->dry)
        entry->stamp = 0;
    plan->result_bytes += key.size + record.value.size;
    return plan_entry_copy(plan->commit->entries, entry) ? KX_OK : KX_NO_MEMORY;
}

static enum kx_status mutate_entry(struct range_walk *walk)
{
    struct kx_slice key = kx_buffer_slice(&walk->key);
    if (walk->mutation->type == KX_PATCH_RANGE)
        return leave_for_next(walk, patch_entry(walk));
    if (walk->mutation->type == KX_CLAIM)
        return plan_claim(walk->plan, walk->index, key);
    return overlay_put(walk->plan->overlay, key, kx_slice(NULL, 0));
}

/* KX_AGAIN: the budget does not suffice. */
static enum kx_status change_entry(struct range_walk *walk)
{
    struct plan *plan = walk->plan;
    enum kx_status status = mutate_entry(walk);
    if (status == KX_OK)
        status = afford_entry(walk);
    if (status == KX_OK && plan->commit->entries != NULL)
        status = return_entry(plan, kx_buffer_slice(&walk->key));
    plan->commit->in_range += status == KX_OK;
    return status;
}

/* Says where the next commit continues: the range may have more rows. */
static enum kx_status stop_at_last(struct range_walk *walk)
{
    struct kx_commit *commit = walk->plan->commit;
    size_t skip = name_of(walk).size;
    struct kx_buffer last;
    commit->more = true;
    if (walk->last.size == 0)
        return KX_OK;
    kx_buffer_init(&last, commit->memory);
    kx_add(&last, walk->last.data + skip, walk->last.size - skip);
    commit->last = kx_buffer_slice(&last);
    return last.failed ? KX_NO_MEMORY : KX_OK;
}

/* The next row, with its entry if it has one: KX_OK, KX_ABSENT (the row is
 * passed), KX_END, errors; KX_AGAIN: the commit ends before it. */
static enum kx_status change_next(struct range_walk *walk)
{
    const struct plan *plan = walk->plan;
    if (walk->last.size > 0 &&
        (is_spent(walk) || plan->result_bytes > KX_COMMIT_RESULTS_MAX))
        return KX_AGAIN;
    enum kx_status status = next_entry(walk);
    if (status == KX_OK && plan->commit->in_range == walk->mutation->limit)
        return KX_AGAIN;
    if (status == KX_OK)
        status = change_entry(walk);
    if ((status == KX_OK || status == KX_ABSENT) && walk->row.size > 0 &&
        pass_row(walk) != KX_OK)
        return KX_NO_MEMORY;
    return status;
}

/* The index entries have been paid for, so the budget ends with the range. */
static enum kx_status change_all(struct range_walk *walk)
{
    struct plan *plan = walk->plan;
    enum kx_status status =
        engine_range_begin(plan->range, kx_buffer_slice(&walk->start),
                           kx_buffer_slice(&walk->end));
    while (status == KX_OK || status == KX_ABSENT)
        status = change_next(walk);
    engine_range_end(plan->range);
    plan->charge.most = UINT64_MAX;
    if (status == KX_AGAIN)
        return stop_at_last(walk);
    return status == KX_END ? KX_OK : status;
}

/* Returns KX_INDEX_OWNED_KEY. */
static enum kx_status refuse_range(struct kx_commit *commit,
                                   const struct index *index)
{
    struct kx_refusal *refusal = &commit->refusal;
    plan_name_index(refusal, index);
    return kx_fail(&refusal->fault, KX_INDEX_OWNED_KEY,
                   "the range lies within the entries of index %s, which "
                   "change only with their primary entries",
                   refusal->index);
}

/* Refuses a range that holds only entries of an index. A wider range skips
 * them. */
static enum kx_status check_range(struct plan *plan,
                                  const struct kx_mutation *mutation)
{
    const struct index *index = catalog_owner(plan->catalog, mutation->key);
    if (index == NULL || !catalog_ends_under(index, mutation->end))
        return KX_OK;
    return refuse_range(plan->commit, index);
}

/* Makes the list of changed entries, if the mutation returns them. */
static enum kx_status begin_entries(struct kx_commit *commit,
                                    const struct kx_mutation *mutation)
{
    if (mutation->type != KX_CLAIM &&
        (mutation->type != KX_PATCH_RANGE ||
         mutation->each->returns != KX_RETURN_NEW))
        return KX_OK;
    commit->entries = talloc_array(commit->memory, struct kx_entry,
                                   (unsigned)mutation->limit);
    return commit->entries == NULL ? KX_NO_MEMORY : KX_OK;
}

/* Begins a claim, or continues one that has found no job. status: of the
 * look-up of the queue. */
static enum kx_status begin_claim(struct plan *plan,
                                  const struct kx_mutation *mutation,
                                  enum kx_status status,
                                  const struct index *index)
{
    struct kx_commit *commit = plan->commit;
    if (status == KX_INDEX_ABSENT ||
        (status == KX_OK && !index->declaration->queue.declared))
        return plan_refuse_queue(plan, mutation->by->index);
    if (status != KX_OK)
        return status;
    plan_refusal(plan)->by = NULL;
    plan_results_drop(commit);
    commit->in_range = 0;
    commit->more = false;
    commit->lease_ms = index->declaration->queue.lease_ms;
    commit->next_due_ms = 0;
    return KX_OK;
}

static enum kx_status find_index(struct plan *plan,
                                 const struct kx_mutation *mutation,
                                 struct index **index_out)
{
    if (mutation->by == NULL)
        return check_range(plan, mutation);
    enum kx_status status = plan_find_index(plan, mutation->by, index_out);
    if (mutation->type == KX_CLAIM)
        return begin_claim(plan, mutation, status, *index_out);
    if (status == KX_OK && declaration_aggregates((*index_out)->declaration))
        return refuse_range(plan->commit, *index_out);
    if (status == KX_OK)
        plan_refusal(plan)->by = NULL;
    return status;
}

enum kx_status plan_change_range(struct plan *plan,
                                 const struct kx_mutation *mutation)
{
    struct range_walk walk = {.plan = plan, .mutation = mutation};
    enum kx_status status = find_index(plan, mutation, &walk.index);
    if (status == KX_OK)
        status = begin_entries(plan->commit, mutation);
    if (status != KX_OK)
        return status;
    enum { BUFFERS = 5 };
    struct kx_buffer *const buffers[BUFFERS] = {
        &walk.start, &walk.end, &walk.row, &walk.key, &walk.last};
    for (size_t i = 0; i < BUFFERS; i++)
        kx_buffer_init(buffers[i], plan);
    status = set_bounds(&walk) ? change_all(&walk) : KX_NO_MEMORY;
    for (size_t i = 0; i < BUFFERS; i++)
        kx_buffer_free(buffers[i]);
    return status;
}
