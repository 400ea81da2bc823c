/* Reads entries, and rows of indexes, as the commits of a plan leave them, and
 * finds the entries that a commit names by values. */
#include "plan/plan_read.h"

#include <stdio.h>
#include <talloc.h>

#include "catalog/row_form.h"

/* ---- Entries ------------------------------------------------------------ */

enum kx_status plan_refuse_unready(struct kx_refusal *refusal,
                                   const struct index *index)
{
    plan_name_index(refusal, index);
    return kx_fail(&refusal->fault, KX_INDEX_NOT_READY, "index %s is %s",
                   refusal->index, kx_index_state_text(index->state));
}

typedef enum kx_status read_fn(struct overlay *overlay, struct kx_slice key,
                               struct record *record_out);

static enum kx_status read_shown(struct plan *plan, struct kx_slice key,
                                 read_fn *read, struct record *record_out)
{
    const struct index *owner = catalog_owner(plan->catalog, key);
    if (owner != NULL && !index_shown(owner))
        return plan_refuse_unready(plan_refusal(plan), owner);
    struct record record;
    enum kx_status status = read(plan->overlay, key, &record);
    if (status != KX_OK)
        return status;
    if (!catalog_show(plan->catalog, &record, plan->now_ms))
        return KX_ABSENT;
    *record_out = record;
    return KX_OK;
}

enum kx_status plan_read(struct plan *plan, struct kx_slice key,
                         struct record *record_out)
{
    return read_shown(plan, key, overlay_record, record_out);
}

enum kx_status plan_read_head(struct plan *plan, struct kx_slice key,
                              struct record *record_out)
{
    return read_shown(plan, key, overlay_head, record_out);
}

/* ---- Rows of an index ----------------------------------------------------
 * While another index is built to replace it, what is stored under a key can
 * have a row of that one as well, which stays as it is. */

enum kx_status plan_row_find(struct plan *plan, const struct index *index,
                             struct kx_slice key, struct record *row_out)
{
    enum kx_status status = overlay_record(plan->overlay, key, row_out);
    if (status != KX_OK)
        return status;
    return row_form_of(row_out, index->id) ? KX_OK : KX_ABSENT;
}

enum kx_status plan_row_put(struct plan *plan, const struct index *index,
                            struct kx_slice key, struct kx_slice bytes)
{
    struct kx_slice stored;
    if (!catalog_shares_rows(plan->catalog, index))
        return overlay_put(plan->overlay, key, bytes);
    enum kx_status status = overlay_get(plan->overlay, key, &stored);
    if (status == KX_OK)
        status =
            catalog_join(plan->catalog, index, stored, &bytes, &plan->joined);
    return status == KX_OK || status == KX_ABSENT
               ? overlay_put(plan->overlay, key, bytes)
               : status;
}

enum kx_status plan_row_removed(struct plan *plan, const struct index *index,
                                struct kx_slice key, bool *removed_out)
{
    struct record row;
    *removed_out = overlay_removes(plan->overlay, key);
    if (*removed_out || !catalog_shares_rows(plan->catalog, index))
        return KX_OK;
    enum kx_status status = plan_row_find(plan, index, key, &row);
    *removed_out = status == KX_ABSENT;
    return status == KX_ABSENT ? KX_OK : status;
}

/* ---- Entries named by values --------------------------------------------
 * Their keys are found in unique indexes before anything else of the commit is
 * planned. */

/* The index may have been declared again since the access rights were checked.
 */
enum kx_status plan_find_index(struct plan *plan, const struct kx_by *by,
                               struct index **index_out)
{
    struct kx_refusal *refusal = plan_refusal(plan);
    struct index *index;
    refusal->by = by;
    enum kx_status status =
        catalog_get(plan->catalog, by->index, &index, &refusal->fault);
    if (status != KX_OK)
        return status;
    const struct declaration *declaration = index->declaration;
    *index_out = index;
    if (by->claims && !kx_equal(by->prefix, declaration->prefix))
        return kx_fail(&refusal->fault, KX_BUSY,
                       "index %s was declared again meanwhile",
                       declaration->name_text);
    if (!index_readable(index))
        return plan_refuse_unready(refusal, index);
    return KX_OK;
}

static enum kx_status check_unique(struct plan *plan, const struct index *index)
{
    if (index->declaration->unique)
        return KX_OK;
    return kx_fail(&plan_refusal(plan)->fault, KX_INDEX_NOT_UNIQUE,
                   "index %s may hold several entries for one value",
                   index->declaration->name_text);
}

/* KX_ABSENT: no entry has the value, or it has expired. */
static enum kx_status find_row(struct plan *plan, const struct kx_by *by,
                               const struct index *index,
                               struct kx_slice *owner_out)
{
    struct record row;
    enum kx_status status =
        extract_lookup(index->declaration, by->value, &plan->key);
    if (status != KX_OK)
        return status;
    struct kx_slice key = kx_buffer_slice(&plan->key);
    status = overlay_record(plan->overlay, key, &row);
    if (status != KX_OK)
        return status;
    bool found = row_form_of(&row, index->id);
    *owner_out = record_owner(&row, key);
    return found && !record_expired(&row, plan->now_ms) ? KX_OK : KX_ABSENT;
}

/* Into the memory of the commit, with size 0 when no entry has the value. */
static enum kx_status find(struct plan *plan, const struct kx_by *by,
                           struct kx_slice *key_out)
{
    struct kx_buffer key;
    struct kx_slice owner;
    struct index *index;
    *key_out = kx_slice(NULL, 0);
    enum kx_status status = plan_find_index(plan, by, &index);
    if (status == KX_OK)
        status = check_unique(plan, index);
    if (status == KX_OK)
        status = find_row(plan, by, index, &owner);
    if (status != KX_OK)
        return status;
    kx_buffer_init(&key, plan->commit->memory);
    kx_add_slice(&key, index->declaration->prefix);
    kx_add_slice(&key, owner);
    *key_out = kx_buffer_slice(&key);
    return key.failed ? KX_NO_MEMORY : KX_OK;
}

static enum kx_status find_checks(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    for (size_t i = 0; i < commit->check_count; i++) {
        struct kx_check *check = &commit->checks[i];
        if (check->by == NULL)
            continue;
        commit->refusal.mutation = commit->mutation_count;
        enum kx_status status = find(plan, check->by, &check->key);
        if (status != KX_OK && status != KX_ABSENT)
            return status;
    }
    return KX_OK;
}

/* "no entry has" the value, or another subject and verb. */
static enum kx_status refuse_value(struct plan *plan, const struct kx_by *by,
                                   enum kx_status status, const char *sentence)
{
    struct kx_buffer value;
    kx_buffer_init(&value, plan->commit->memory);
    kx_key_to_json(by->value, &value);
    return kx_fail(&plan_refusal(plan)->fault, status,
                   "%s the value %.*s in the index %.*s", sentence,
                   (int)value.size, (const char *)value.data,
                   (int)by->index.size, (const char *)by->index.data);
}

static enum kx_status find_mutation(struct plan *plan,
                                    struct kx_mutation *mutation)
{
    enum kx_status status = find(plan, mutation->by, &mutation->key);
    if (status != KX_ABSENT)
        return status;
    mutation->key = mutation->new_key;
    return mutation->new_key.size > 0
               ? KX_OK
               : refuse_value(plan, mutation->by, KX_ABSENT, "no entry has");
}

enum kx_status plan_find_keys(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    enum kx_status status = find_checks(plan);
    for (size_t i = 0; status == KX_OK && i < commit->mutation_count; i++) {
        struct kx_mutation *mutation = &commit->mutations[i];
        if (mutation->by == NULL || kx_mutates_range(mutation))
            continue;
        commit->refusal.mutation = i;
        status = find_mutation(plan, mutation);
    }
    if (status == KX_OK)
        commit->refusal.by = NULL;
    return status;
}

enum kx_status plan_find_kept(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    for (size_t i = 0; i < commit->mutation_count; i++) {
        const struct kx_mutation *mutation = &commit->mutations[i];
        struct kx_slice key;
        if (mutation->by == NULL || !mutation->by->keeps)
            continue;
        commit->refusal.mutation = i;
        enum kx_status status = find(plan, mutation->by, &key);
        if (status == KX_ABSENT ||
            (status == KX_OK && !kx_equal(key, mutation->key)))
            status = refuse_value(plan, mutation->by, KX_BAD_VALUE,
                                  "the entry would not have");
        if (status != KX_OK)
            return status;
        commit->refusal.by = NULL;
    }
    return KX_OK;
}

/* ---- Mutations ----------------------------------------------------------- */

/* A set with the stamp as suffix names the keys with one more part, which is a
 * stamp. */
static bool names(const struct kx_mutation *mutation, struct kx_slice key)
{
    struct kx_key_reader reader;
    struct kx_part part;
    uint64_t stamp;
    size_t size = mutation->key.size;
    if (!mutation->suffix_stamp)
        return kx_equal(mutation->key, key);
    if (!kx_starts_with(key, mutation->key))
        return false;
    struct kx_slice rest = kx_slice(key.data + size, key.size - size);
    kx_key_read(&reader, rest);
    return kx_part_size(rest) == rest.size &&
           kx_key_next(&reader, &part) == KX_OK && part.type == KX_STRING &&
           kx_stamp_parse(part.bytes, &stamp);
}

size_t plan_mutation_of(const struct kx_commit *commit, struct kx_slice key)
{
    size_t i = commit->mutation_count;
    while (i > 1 && !names(&commit->mutations[i - 1], key))
        i--;
    return i == 0 ? 0 : i - 1;
}
