/* Finds the outcome of an earlier commit in the table or among the outcomes
 * that the plan has added, and makes the rows that store them. A hash has the
 * added outcomes: their rows are not in the table yet, and one batch may have
 * the same commit twice. */
#include "plan/plan_idempotency.h"

#include <inttypes.h>
#include <talloc.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(added) ((added)->lost = true)
#include <uthash.h>

#include "base/arena.h"
#include "catalog/idempotency_rows.h"
#include "plan/outcome.h"
#include "plan/plan_mutate.h"

/* An outcome that a commit of the plan has added. */
struct added {
    UT_hash_handle hh;
    struct kx_slice key; /* of its row */
    struct kx_slice row;
    bool lost; /* the hash had no memory for it */
};

struct outcome_set {
    struct arena arena; /* of the outcomes, their keys and rows */
    struct added *rows;
    struct row_write *writes; /* of the rows, in the order of the commits */
    size_t count;
    size_t capacity;
    int64_t due_ms;         /* when the last outcome expires */
    struct kx_buffer due;   /* value of the due row: the outcomes' keys */
    struct kx_buffer first; /* key of the due row */
    struct kx_buffer key;   /* scratch: key of the present commit's row */
    unsigned hash;          /* of this key */
    struct kx_buffer row;   /* scratch: the present commit's row */
    struct kx_buffer outcome;
    struct idempotency_usages usages; /* of the senders */
    size_t expired; /* bytes of the expired row that the present commit's row
                     * replaces, or 0 */
};

static int free_rows(struct outcome_set *set)
{
    HASH_CLEAR(hh, set->rows);
    return 0;
}

static struct outcome_set *set_of(struct plan *plan)
{
    if (plan->outcomes != NULL)
        return plan->outcomes;
    struct outcome_set *set = talloc_zero(plan, struct outcome_set);
    if (set == NULL)
        return NULL;
    arena_init(&set->arena, set);
    kx_buffer_init(&set->due, set);
    kx_buffer_init(&set->first, set);
    kx_buffer_init(&set->key, set);
    kx_buffer_init(&set->row, set);
    kx_buffer_init(&set->outcome, set);
    set->usages.mem = set;
    talloc_set_destructor(set, free_rows);
    return plan->outcomes = set;
}

/* ---- Finding ------------------------------------------------------------ */

/* Reads the row under set->key from the table. KX_ABSENT also when it has
 * expired. */
static enum kx_status read_stored(const struct plan *plan,
                                  struct outcome_set *set,
                                  struct idempotency_row *row_out)
{
    enum kx_status status = engine_get(plan->view, TABLE_CATALOG,
                                       kx_buffer_slice(&set->key), &set->row);
    if (status != KX_OK)
        return status;
    if (!idempotency_row_read(kx_buffer_slice(&set->row), row_out))
        return KX_FAILED;
    if (row_out->until_ms > plan->now_ms)
        return KX_OK;
    set->expired = set->row.size;
    return KX_ABSENT;
}

/* The row under set->key as the commits planned so far leave it. KX_ABSENT also
 * when it has expired, or is assumed to be absent. */
static enum kx_status read_row(const struct plan *plan, struct outcome_set *set,
                               struct idempotency_row *row_out)
{
    struct kx_slice key = kx_buffer_slice(&set->key);
    struct added *added;
    set->expired = 0;
    HASH_VALUE(key.data, (unsigned)key.size, set->hash);
    HASH_FIND_BYHASHVALUE(hh, set->rows, key.data, (unsigned)key.size,
                          set->hash, added);
    if (added != NULL)
        return idempotency_row_read(added->row, row_out) ? KX_OK : KX_FAILED;
    return plan->optimistic ? KX_ABSENT : read_stored(plan, set, row_out);
}

/* No outcome was found: KX_ABSENT if one may be stored. Beyond the quota an
 * optimistic plan reads the table after all, since a stored outcome is no
 * violation. */
static enum kx_status check_quota(struct plan *plan, struct outcome_set *set,
                                  struct idempotency_row *row_out)
{
    struct kx_commit *commit = plan->commit;
    struct idempotency_usage *usage = NULL;
    enum kx_status status = idempotency_usage_find(
        &set->usages, plan->view, commit->idempotency->key, &usage);
    if (status != KX_OK)
        return status;
    if (idempotency_usage_now(usage) < plan->outcome_quota)
        return KX_ABSENT;
    if (plan->optimistic)
        status = read_stored(plan, set, row_out);
    else
        status = KX_ABSENT;
    if (status != KX_ABSENT)
        return status;
    return kx_fail(&commit->refusal.fault, KX_IDEMPOTENCY_QUOTA,
                   "the outcomes that are stored for this sender have %" PRIu64
                   " bytes; the limit is %" PRIu64 "; nothing was changed",
                   idempotency_usage_now(usage), plan->outcome_quota);
}

static enum kx_status differs(struct kx_commit *commit)
{
    return kx_fail(&commit->refusal.fault, KX_IDEMPOTENCY_DIFFERS,
                   "another request was sent under this key; nothing was "
                   "changed");
}

static enum kx_status find(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    struct outcome_set *set = set_of(plan);
    struct idempotency_row row;
    if (set == NULL)
        return KX_NO_MEMORY;
    kx_buffer_clear(&set->key);
    idempotency_row_key(commit->idempotency->key, &set->key);
    if (set->key.failed)
        return KX_NO_MEMORY;
    enum kx_status status = read_row(plan, set, &row);
    if (status == KX_ABSENT)
        status = check_quota(plan, set, &row);
    if (status != KX_OK)
        return status;
    if (!kx_equal(row.digest,
                  kx_slice(commit->idempotency->digest, KX_FINGERPRINT_SIZE)))
        return differs(commit);
    plan_results_drop(commit);
    status = outcome_read(row.outcome, commit);
    if (status == KX_OK)
        status = plan_results_read_again(plan);
    commit->idempotency->replayed = status == KX_OK;
    return status;
}

bool plan_idempotency_find(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    commit->idempotency->replayed = false;
    enum kx_status status = find(plan);
    if (status == KX_ABSENT)
        return false;
    if (!commit->idempotency->replayed)
        commit->status = status;
    return true;
}

/* ---- Adding ------------------------------------------------------------- */

/* Reserves writes for one more row, the due row, and the usage rows. */
static bool reserve(struct outcome_set *set)
{
    if (set->count + 2 + set->usages.count <= set->capacity)
        return true;
    size_t capacity = set->capacity * 2 + set->usages.count + 16;
    struct row_write *writes =
        talloc_realloc(set, set->writes, struct row_write, (unsigned)capacity);
    if (writes == NULL)
        return false;
    set->writes = writes;
    set->capacity = capacity;
    return true;
}

static bool copy(struct outcome_set *set, const struct kx_buffer *bytes,
                 struct kx_slice *copy_out)
{
    uint8_t *place = bytes->failed
                         ? NULL
                         : arena_copy(&set->arena, bytes->data, bytes->size);
    *copy_out = kx_slice(place, bytes->size);
    return place != NULL;
}

/* The row of the present commit, into set->row. */
static void write_row(struct outcome_set *set, const struct kx_commit *commit)
{
    kx_buffer_clear(&set->outcome);
    kx_buffer_clear(&set->row);
    outcome_write(commit, &set->outcome);
    struct idempotency_row row = {
        .until_ms = commit->idempotency->until_ms,
        .digest = kx_slice(commit->idempotency->digest, KX_FINGERPRINT_SIZE),
        .outcome = kx_buffer_slice(&set->outcome)};
    idempotency_row_write(&row, &set->row);
    set->row.failed = set->row.failed || set->outcome.failed;
}

static bool add_usage(struct plan *plan, struct outcome_set *set,
                      struct kx_slice key)
{
    struct idempotency_usage *usage = NULL;
    if (idempotency_usage_find(&set->usages, plan->view, key, &usage) != KX_OK)
        return false;
    if (set->expired > 0)
        idempotency_usage_remove(usage, key, set->expired);
    idempotency_usage_add(usage, key, set->row.size);
    return true;
}

/* If memory runs out halfway, only the due row may name the key, which is
 * harmless. */
static bool add(struct plan *plan, const struct kx_commit *commit)
{
    struct outcome_set *set = plan->outcomes;
    const struct kx_idempotency *idempotency = commit->idempotency;
    struct added *added = arena_take(&set->arena, sizeof *added);
    if (added == NULL || !reserve(set))
        return false;
    write_row(set, commit);
    *added = (struct added){.lost = false};
    idempotency_due_add(idempotency->key, &set->due);
    if (set->due.failed || !copy(set, &set->key, &added->key) ||
        !copy(set, &set->row, &added->row))
        return false;
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, set->rows, added->key.data,
                                (unsigned)added->key.size, set->hash, added);
    if (added->lost || !add_usage(plan, set, idempotency->key))
        return false;
    set->writes[set->count++] =
        (struct row_write){.type = plan->optimistic ? ROW_INSERT : ROW_PUT,
                           .table = TABLE_CATALOG,
                           .key = added->key,
                           .value = added->row};
    charge_add(&plan->charge, 1, CHARGE_ROW);
    charge_add(&plan->charge, added->row.size + 2 * added->key.size,
               CHARGE_STORED);
    if (idempotency->until_ms > set->due_ms)
        set->due_ms = idempotency->until_ms;
    return true;
}

void plan_idempotency_store(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    if (!outcome_is_definite(commit->status) || add(plan, commit))
        return;
    commit->status = kx_fail(&commit->refusal.fault, KX_NO_MEMORY,
                             "no memory for the outcome of the commit");
    plan_results_drop(commit);
}

/* ---- For the batch ------------------------------------------------------ */

bool plan_idempotency_any(const struct plan *plan)
{
    return plan->outcomes != NULL && plan->outcomes->count != 0;
}

enum kx_status plan_idempotency_check_absent(const struct plan *plan)
{
    struct outcome_set *set = plan->outcomes;
    for (size_t i = 0; set != NULL && i < set->count; i++) {
        if (set->writes[i].type != ROW_INSERT)
            continue;
        enum kx_status status = engine_get(plan->view, TABLE_CATALOG,
                                           set->writes[i].key, &set->row);
        if (status != KX_ABSENT)
            return status == KX_OK ? KX_CHECK_FAILED : status;
    }
    return KX_OK;
}

bool plan_idempotency_rows(struct plan *plan,
                           const struct row_write **writes_out,
                           size_t *count_out)
{
    struct outcome_set *set = plan->outcomes;
    struct kx_slice left = kx_buffer_slice(&set->due);
    struct kx_slice first;
    if (!idempotency_due_next(&left, &first))
        return false;
    idempotency_due_key(set->due_ms, first, &set->first);
    set->writes[set->count++] =
        (struct row_write){.type = ROW_PUT,
                           .table = TABLE_CATALOG,
                           .key = kx_buffer_slice(&set->first),
                           .value = kx_buffer_slice(&set->due)};
    bool made = !set->first.failed;
    for (size_t i = 0; made && i < set->usages.count; i++)
        if (set->usages.list[i].change != 0)
            made = idempotency_usage_write(set, &set->usages.list[i],
                                           &set->writes[set->count++]);
    *writes_out = set->writes;
    *count_out = set->count;
    return made;
}

int64_t plan_idempotency_due_ms(const struct plan *plan)
{
    return plan_idempotency_any(plan) ? plan->outcomes->due_ms : INT64_MAX;
}

int64_t plan_idempotency_bytes(const struct plan *plan)
{
    return plan_idempotency_any(plan)
               ? idempotency_usages_change(&plan->outcomes->usages)
               : 0;
}
