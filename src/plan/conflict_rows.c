/* Conflict rows, through the overlay of the plan. Rows in the table are found
 * by a scan, minus the rows that the plan has removed. Rows that only the plan
 * has are remembered in a set: a write during the build may meet a conflict
 * that the build has not reached yet. */
#include "plan/conflict_rows.h"

#include <talloc.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(group) ((group)->lost = true)
#include <uthash.h>

#include "engine/engine.h"

bool conflict_rows_possible(const struct plan *plan, const struct index *index)
{
    return index->declaration->unique &&
           (index->conflicts != 0 || plan->conflict_set != NULL);
}

void conflict_rows_make(const struct index *index, struct kx_slice index_key,
                        struct kx_slice owner, struct kx_buffer *key_out,
                        struct record *record_out)
{
    size_t skip = index->declaration->name_key.size;
    key_out->size = 0;
    kx_add(key_out, index_key.data, skip);
    kx_add_byte(key_out, CONFLICT_ROWS_MARK);
    kx_add(key_out, index_key.data + skip, index_key.size - skip);
    *record_out = (struct record){.encoding = KX_POINTER,
                                  .index = index->id,
                                  .owner_at = (uint16_t)key_out->size};
    kx_add_slice(key_out, owner);
}

bool conflict_rows_match(struct kx_slice key)
{
    size_t name = kx_part_size(key);
    return name < key.size && key.data[name] == CONFLICT_ROWS_MARK;
}

/* ---- Rows that only the plan has -----------------------------------------
 * The plan's own changes are in no order, so a hash keeps a list of rows for
 * each value. */

/* The rows of one value. */
struct group {
    UT_hash_handle hh;
    struct kx_slice value;
    struct kx_slice *keys;
    size_t count;
    size_t capacity;
    bool lost; /* the hash had no memory for it */
};

struct conflict_set {
    struct group *groups;
};

static int free_groups(struct conflict_set *set)
{
    HASH_CLEAR(hh, set->groups);
    return 0;
}

static struct conflict_set *create_set(void *mem)
{
    struct conflict_set *set = talloc_zero(mem, struct conflict_set);
    if (set != NULL)
        talloc_set_destructor(set, free_groups);
    return set;
}

static struct group *find_group(const struct conflict_set *set,
                                struct kx_slice value)
{
    struct group *group;
    HASH_FIND(hh, set->groups, value.data, (unsigned)value.size, group);
    return group;
}

static struct group *add_group(struct conflict_set *set, struct kx_slice value)
{
    struct group *group = talloc_zero(set, struct group);
    if (group == NULL)
        return NULL;
    if (kx_slice_copy(group, value, &group->value))
        HASH_ADD_KEYPTR(hh, set->groups, group->value.data,
                        (unsigned)group->value.size, group);
    else
        group->lost = true;
    if (group->lost) {
        talloc_free(group);
        return NULL;
    }
    return group;
}

static bool make_room(struct group *group)
{
    if (group->count < group->capacity)
        return true;
    size_t capacity = group->capacity * 2 + 4;
    struct kx_slice *keys =
        talloc_realloc(group, group->keys, struct kx_slice, (unsigned)capacity);
    if (keys == NULL)
        return false;
    group->keys = keys;
    group->capacity = capacity;
    return true;
}

static bool add_to_set(struct conflict_set *set, struct kx_slice key,
                       size_t value_size)
{
    struct kx_slice value = kx_slice(key.data, value_size);
    struct group *group = find_group(set, value);
    if (group == NULL)
        group = add_group(set, value);
    if (group == NULL || !make_room(group) ||
        !kx_slice_copy(group, key, &group->keys[group->count]))
        return false;
    group->count++;
    return true;
}

static const struct kx_slice *rows_in_set(const struct conflict_set *set,
                                          struct kx_slice value,
                                          size_t *count_out)
{
    const struct group *group = find_group(set, value);
    *count_out = group != NULL ? group->count : 0;
    return group != NULL ? group->keys : NULL;
}

/* ---- Rows of the table and of the plan ------------------------------------
 */

/* Looks up the conflict row, whose key is then in plan->value. KX_OK,
 * KX_ABSENT, KX_NO_MEMORY, KX_FAILED. */
static enum kx_status look_up(struct plan *plan, const struct index *index,
                              struct kx_slice index_key, struct kx_slice owner,
                              struct record *record_out)
{
    struct record there;
    conflict_rows_make(index, index_key, owner, &plan->value, record_out);
    if (plan->value.failed)
        return KX_NO_MEMORY;
    enum kx_status status =
        overlay_record(plan->overlay, kx_buffer_slice(&plan->value), &there);
    if (status != KX_OK)
        return status;
    return there.index == index->id ? KX_OK : KX_ABSENT;
}

/* Call before the row is put; the note is harmless if the row is not put after
 * all. */
static bool remember(struct plan *plan, struct kx_slice key, size_t value_size)
{
    if (plan->conflict_set == NULL)
        plan->conflict_set = create_set(plan);
    return plan->conflict_set != NULL &&
           add_to_set(plan->conflict_set, key, value_size);
}

enum kx_status conflict_rows_put(struct plan *plan, struct index *index,
                                 struct kx_slice index_key,
                                 struct kx_slice owner, int64_t expires_at_ms)
{
    struct record record;
    enum kx_status status = look_up(plan, index, index_key, owner, &record);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    if (status == KX_ABSENT)
        plan_count_conflicts(plan, index, 1);
    record.stamp = plan->stamp;
    record.expires_at_ms = expires_at_ms;
    plan->record.size = 0;
    record_write(&record, &plan->record);
    if (plan->record.failed ||
        !remember(plan, kx_buffer_slice(&plan->value), record.owner_at))
        return KX_NO_MEMORY;
    return overlay_put(plan->overlay, kx_buffer_slice(&plan->value),
                       kx_buffer_slice(&plan->record));
}

enum kx_status conflict_rows_remove(struct plan *plan, struct index *index,
                                    struct kx_slice index_key,
                                    struct kx_slice owner)
{
    struct record record;
    if (!conflict_rows_possible(plan, index))
        return KX_OK;
    enum kx_status status = look_up(plan, index, index_key, owner, &record);
    if (status != KX_OK)
        return status == KX_ABSENT ? KX_OK : status;
    plan_count_conflicts(plan, index, -1);
    return overlay_put(plan->overlay, kx_buffer_slice(&plan->value),
                       kx_slice(NULL, 0));
}

/* Copies the owner of a row, as the plan has it now, if the owner has not
 * expired: KX_OK, KX_ABSENT, KX_NO_MEMORY, KX_FAILED. */
static enum kx_status take_owner(struct plan *plan, const struct index *index,
                                 struct kx_slice key,
                                 struct kx_buffer *owner_out)
{
    struct record record;
    enum kx_status status = overlay_record(plan->overlay, key, &record);
    if (status != KX_OK)
        return status;
    if (record.index != index->id || record_expired(&record, plan->now_ms))
        return KX_ABSENT;
    owner_out->size = 0;
    kx_add_slice(owner_out, record_owner(&record, key));
    return owner_out->failed ? KX_NO_MEMORY : KX_OK;
}

static enum kx_status search_table(struct plan *plan, const struct index *index,
                                   struct kx_slice start, struct kx_slice end,
                                   struct kx_buffer *owner_out)
{
    struct kx_slice key;
    struct kx_slice bytes;
    enum kx_status found = KX_ABSENT;
    enum kx_status status = engine_range_begin(plan->range, start, end);
    while (status == KX_OK && found == KX_ABSENT) {
        status = engine_range_next(plan->range, &key, &bytes);
        if (status == KX_OK)
            found = take_owner(plan, index, key, owner_out);
    }
    engine_range_end(plan->range);
    return status == KX_OK || status == KX_END ? found : status;
}

/* The lowest of the rows that only the plan has. */
static enum kx_status search_set(struct plan *plan, const struct index *index,
                                 struct kx_slice value,
                                 struct kx_buffer *owner_out)
{
    size_t count = 0;
    const struct kx_slice *first = NULL;
    const struct kx_slice *keys =
        plan->conflict_set != NULL
            ? rows_in_set(plan->conflict_set, value, &count)
            : NULL;
    for (size_t i = 0; i < count; i++) {
        if (first != NULL && kx_compare(keys[i], *first) >= 0)
            continue;
        enum kx_status status = take_owner(plan, index, keys[i], owner_out);
        if (status == KX_OK)
            first = &keys[i];
        else if (status != KX_ABSENT)
            return status;
    }
    return first != NULL ? KX_OK : KX_ABSENT;
}

/* The upper bound has its own buffer: the other scratch buffers are in use by
 * the caller's caller. */
enum kx_status conflict_rows_first(struct plan *plan, const struct index *index,
                                   struct kx_slice index_key,
                                   struct kx_buffer *owner_out)
{
    struct record unused;
    struct kx_buffer end;
    struct kx_slice no_owner = kx_slice(NULL, 0);
    if (!conflict_rows_possible(plan, index))
        return KX_ABSENT;
    kx_buffer_init(&end, plan);
    conflict_rows_make(index, index_key, no_owner, &plan->value, &unused);
    conflict_rows_make(index, index_key, no_owner, &end, &unused);
    kx_add_byte(&end, 0xff);
    struct kx_slice start = kx_buffer_slice(&plan->value);
    enum kx_status status = KX_NO_MEMORY;
    if (!plan->value.failed && !end.failed)
        status =
            search_table(plan, index, start, kx_buffer_slice(&end), owner_out);
    if (status == KX_ABSENT)
        status = search_set(plan, index, start, owner_out);
    kx_buffer_free(&end);
    return status;
}
