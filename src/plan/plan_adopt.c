/* Compares hand-kept entries with index entries, and takes them over when a
 * commit reaches them before the build does. */
#include "plan/plan_adopt.h"

#include "entry/value.h"

/* KX_OK, KX_ABSENT, KX_NO_MEMORY. */
static enum kx_status same_value(const struct record *hand,
                                 struct kx_slice index_key,
                                 const struct record *row, const void *mem)
{
    struct kx_value theirs = record_value(hand, index_key);
    struct kx_value ours = record_value(row, index_key);
    bool same = false;
    enum kx_status status = value_equal(&ours, &theirs, mem, &same);
    return status == KX_OK && !same ? KX_ABSENT : status;
}

/* The versionstamp of a hand-kept copy differs from that of its entry, and its
 * bytes may differ, too. */
enum kx_status plan_adopt_merge(const struct record *hand,
                                struct kx_slice index_key, struct record *row,
                                const void *mem)
{
    enum kx_status status = same_value(hand, index_key, row, mem);
    if (status != KX_OK)
        return status;
    if (row->encoding != KX_POINTER) {
        row->own = hand->stamp != row->stamp ||
                   hand->encoding != row->encoding ||
                   !kx_equal(hand->value, row->value);
        row->encoding = hand->encoding;
        row->media_type = hand->media_type;
        row->value = hand->value;
    }
    row->stamp = hand->stamp;
    return KX_OK;
}

/* The hand-kept entry under an index key, as the plan has it now: KX_OK;
 * KX_ABSENT, also if the index takes over nothing; KX_NO_MEMORY, KX_FAILED. */
static enum kx_status find(struct plan *plan, const struct index *index,
                           struct kx_slice index_key, struct record *record_out)
{
    if (!index_adopts(index))
        return KX_ABSENT;
    enum kx_status status =
        overlay_record(plan->overlay, index_key, record_out);
    if (status != KX_OK)
        return status;
    return record_out->index == 0 ? KX_OK : KX_ABSENT;
}

/* KX_OK if the hand-kept entry was right before the commit changed its primary
 * entry; KX_ABSENT, KX_NO_MEMORY. */
static enum kx_status was_right(struct plan *plan, const struct index *index,
                                size_t n, const struct record *hand)
{
    struct record row;
    if (n == plan->before.count)
        return KX_ABSENT;
    enum kx_status status = extract_record(&plan->before, n, index->id, &row);
    if (status != KX_OK)
        return status;
    return same_value(hand, extract_key(&plan->before, n), &row, plan);
}

/* Replaces the row in plan->record by the merged row. */
static enum kx_status rewrite(struct plan *plan, const struct record *row)
{
    struct kx_buffer previous = plan->record;
    plan->value.size = 0;
    record_write(row, &plan->value);
    plan->record = plan->value;
    plan->value = previous;
    return plan->record.failed ? KX_NO_MEMORY : KX_OK;
}

static enum kx_status merge(struct plan *plan, const struct index *index,
                            struct kx_slice index_key,
                            const struct record *hand)
{
    struct record row;
    if (!record_read(kx_buffer_slice(&plan->record), &row))
        return KX_FAILED;
    enum kx_status status = plan_adopt_merge(hand, index_key, &row, plan);
    if (status == KX_OK)
        return rewrite(plan, &row);
    if (status != KX_ABSENT)
        return status;
    return was_right(plan, index, extract_find(&plan->before, index_key), hand);
}

enum kx_status plan_adopt_take(struct plan *plan, struct index *index,
                               struct kx_slice index_key)
{
    struct record hand;
    enum kx_status status = overlay_record(plan->overlay, index_key, &hand);
    if (status != KX_OK || hand.index != 0)
        return status == KX_ABSENT ? KX_OK : status;
    plan_count(plan, NULL, -1);
    if (!index_adopts(index) || record_expired(&hand, plan->now_ms))
        return KX_OK;
    status = merge(plan, index, index_key, &hand);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    plan_count_adopted(plan, index, status == KX_OK ? KX_KEPT : KX_REPLACED);
    return KX_OK;
}

/* The key of an index entry that is not unique names its owner. In a unique
 * index only the value tells the owner. */
enum kx_status plan_adopt_remove(struct plan *plan, struct index *index,
                                 size_t n)
{
    struct record hand;
    struct kx_slice index_key = extract_key(&plan->before, n);
    enum kx_status status = find(plan, index, index_key, &hand);
    if (status == KX_OK && index->declaration->unique)
        status = was_right(plan, index, n, &hand);
    if (status != KX_OK)
        return status == KX_ABSENT ? KX_OK : status;
    plan_count(plan, NULL, -1);
    return overlay_put(plan->overlay, index_key, kx_slice(NULL, 0));
}

void plan_adopt_count(struct kx_adoption *adoption, enum kx_adopted kind,
                      struct kx_slice key)
{
    size_t count = adoption->sample_counts[kind];
    adoption->counts[kind]++;
    if (count == KX_SAMPLES_MAX || key.size > KX_SAMPLE_KEY_MAX)
        return;
    struct kx_sample *sample = &adoption->samples[kind][count];
    memcpy(sample->key, key.data, key.size);
    sample->size = key.size;
    adoption->sample_counts[kind]++;
}
