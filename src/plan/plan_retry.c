/* A hash of the outcomes that commits of the plan have added: their rows are
 * not in the table yet, and a commit may come twice in one batch. */
#include "plan/plan_retry.h"

#include <talloc.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(added) ((added)->lost = true)
#include <uthash.h>

#include "base/arena.h"
#include "catalog/retry_rows.h"
#include "plan/outcome.h"

/* An outcome that was added. */
struct added {
    UT_hash_handle hh;
    struct kx_slice key; /* of its row */
    struct kx_slice row;
    bool lost; /* the hash had no memory for it */
};

struct retry_set {
    struct arena arena; /* of all that follows but the writes */
    struct added *rows;
    struct row_write *writes;
    size_t count;
    size_t capacity;
    size_t bytes;
    int64_t due_ms;
    struct kx_buffer key; /* scratch: of the present commit's row */
    struct kx_buffer row; /* its row, as it is stored or will be */
    struct kx_buffer outcome;
};

/* Rows of one outcome: it, when it is due, and the due row of one that it
 * replaces. */
enum { WRITES_MAX = 3 };

static int free_rows(struct retry_set *set)
{
    HASH_CLEAR(hh, set->rows);
    return 0;
}

static struct retry_set *set_of(struct plan *plan)
{
    if (plan->retries != NULL)
        return plan->retries;
    struct retry_set *set = talloc_zero(plan, struct retry_set);
    if (set == NULL)
        return NULL;
    arena_init(&set->arena, set);
    set->due_ms = INT64_MAX;
    kx_buffer_init(&set->key, set);
    kx_buffer_init(&set->row, set);
    kx_buffer_init(&set->outcome, set);
    talloc_set_destructor(set, free_rows);
    return plan->retries = set;
}

/* ---- Finding ------------------------------------------------------------ */

/* The row under set->key as the commits planned so far leave it. KX_ABSENT also
 * when it is past its time. */
static enum kx_status read_row(const struct plan *plan, struct retry_set *set,
                               struct retry_row *row_out)
{
    struct kx_slice key = kx_buffer_slice(&set->key);
    struct added *added;
    HASH_FIND(hh, set->rows, key.data, (unsigned)key.size, added);
    if (added != NULL)
        return retry_row_read(added->row, row_out) ? KX_OK : KX_FAILED;
    enum kx_status status =
        engine_get(plan->view, TABLE_CATALOG, key, &set->row);
    if (status != KX_OK)
        return status;
    if (!retry_row_read(kx_buffer_slice(&set->row), row_out))
        return KX_FAILED;
    return row_out->until_ms > plan->now_ms ? KX_OK : KX_ABSENT;
}

static enum kx_status differs(struct kx_commit *commit)
{
    return kx_fail(&commit->refusal.fault, KX_RETRY_DIFFERS,
                   "a request that was not the same came under this key; "
                   "nothing was changed");
}

/* Leaves set->row empty if there is no row, also none past its time. */
static enum kx_status find(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    struct retry_set *set = set_of(plan);
    struct retry_row row;
    if (set == NULL)
        return KX_NO_MEMORY;
    kx_buffer_clear(&set->key);
    kx_buffer_clear(&set->row);
    retry_row_key(commit->retry->key, &set->key);
    if (set->key.failed)
        return KX_NO_MEMORY;
    enum kx_status status = read_row(plan, set, &row);
    if (status != KX_OK)
        return status;
    if (!kx_equal(row.digest, kx_slice(commit->retry->digest, KX_SHA256_SIZE)))
        return differs(commit);
    plan_results_drop(commit);
    status = outcome_read(row.outcome, commit);
    commit->retry->replayed = status == KX_OK;
    return status;
}

bool plan_retry_find(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    commit->retry->replayed = false;
    enum kx_status status = find(plan);
    if (status == KX_ABSENT)
        return false;
    if (!commit->retry->replayed)
        commit->status = status;
    return true;
}

/* ---- Adding ------------------------------------------------------------- */

static bool reserve(struct retry_set *set)
{
    if (set->capacity - set->count >= WRITES_MAX)
        return true;
    size_t capacity = set->capacity * 2 + 4 * WRITES_MAX;
    struct row_write *writes =
        talloc_realloc(set, set->writes, struct row_write, (unsigned)capacity);
    if (writes == NULL)
        return false;
    set->writes = writes;
    set->capacity = capacity;
    return true;
}

static bool copy(struct retry_set *set, const struct kx_buffer *bytes,
                 struct kx_slice *copy_out)
{
    uint8_t *place = bytes->failed
                         ? NULL
                         : arena_copy(&set->arena, bytes->data, bytes->size);
    *copy_out = kx_slice(place, bytes->size);
    return place != NULL;
}

/* A write of the due row of this time; false when memory ran out. The scratch
 * is set->outcome. */
static bool due_write(struct retry_set *set, const struct kx_retry *retry,
                      int64_t until_ms, enum row_write_type type,
                      struct row_write *write_out)
{
    *write_out = (struct row_write){.type = type, .table = TABLE_CATALOG};
    kx_buffer_clear(&set->outcome);
    retry_due_key(until_ms, retry->key, &set->outcome);
    return copy(set, &set->outcome, &write_out->key);
}

/* set->row has the row that the table has, if it is past its time. */
static bool drop_stale(struct retry_set *set, const struct kx_retry *retry,
                       struct row_write *write_out)
{
    struct retry_row stale;
    write_out->key.size = 0;
    return !retry_row_read(kx_buffer_slice(&set->row), &stale) ||
           due_write(set, retry, stale.until_ms, ROW_DELETE, write_out);
}

/* The row of the present commit, into set->row. */
static void write_row(struct retry_set *set, const struct kx_commit *commit)
{
    kx_buffer_clear(&set->outcome);
    kx_buffer_clear(&set->row);
    outcome_write(commit, &set->outcome);
    struct retry_row row = {.until_ms = commit->retry->until_ms,
                            .digest =
                                kx_slice(commit->retry->digest, KX_SHA256_SIZE),
                            .outcome = kx_buffer_slice(&set->outcome)};
    retry_row_write(&row, &set->row);
    set->row.failed = set->row.failed || set->outcome.failed;
}

static bool add(struct retry_set *set, const struct kx_commit *commit)
{
    const struct kx_retry *retry = commit->retry;
    struct added *added = arena_take(&set->arena, sizeof *added);
    struct row_write stale;
    struct row_write due;
    if (added == NULL || !reserve(set) || !drop_stale(set, retry, &stale) ||
        !due_write(set, retry, retry->until_ms, ROW_PUT, &due))
        return false;
    write_row(set, commit);
    *added = (struct added){.lost = false};
    if (!copy(set, &set->key, &added->key) ||
        !copy(set, &set->row, &added->row))
        return false;
    HASH_ADD_KEYPTR(hh, set->rows, added->key.data, (unsigned)added->key.size,
                    added);
    if (added->lost)
        return false;
    if (stale.key.size != 0)
        set->writes[set->count++] = stale;
    set->writes[set->count++] = (struct row_write){.type = ROW_PUT,
                                                   .table = TABLE_CATALOG,
                                                   .key = added->key,
                                                   .value = added->row};
    set->writes[set->count++] = due;
    set->bytes += added->row.size + 2 * added->key.size;
    if (retry->until_ms < set->due_ms)
        set->due_ms = retry->until_ms;
    return true;
}

void plan_retry_keep(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    if (!outcome_is_definite(commit->status) || add(plan->retries, commit))
        return;
    commit->status = kx_fail(&commit->refusal.fault, KX_NO_MEMORY,
                             "no memory for the outcome of the commit");
    plan_results_drop(commit);
}

/* ---- For the batch ------------------------------------------------------ */

const struct row_write *plan_retry_writes(const struct plan *plan,
                                          size_t *count_out)
{
    *count_out = plan->retries != NULL ? plan->retries->count : 0;
    return plan->retries != NULL ? plan->retries->writes : NULL;
}

int64_t plan_retry_due_ms(const struct plan *plan)
{
    return plan->retries != NULL ? plan->retries->due_ms : INT64_MAX;
}

size_t plan_retry_bytes(const struct plan *plan)
{
    return plan->retries != NULL ? plan->retries->bytes : 0;
}
