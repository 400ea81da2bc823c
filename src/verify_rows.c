/* The jobs of a verification: first each row of the index against the entry
 * that it stands for, then each entry against its rows.
 *
 * A job compares what is in the tables while no commit is planned, so whatever
 * it finds wrong is wrong. What it mends is a commit of its own: with a stamp,
 * on disk before the next one, known to those who watch the keys. */
#include <talloc.h>

#include "jobs.h"
#include "plan.h"
#include "range.h"
#include "stand.h"
#include "table.h"
#include "value.h"
#include "writer.h"

/* One job. Everything lies in mem, but for plan and next, which the store and
 * the index get. */
struct check {
    struct kx_store *store;
    struct index *index;
    void *mem;
    struct plan *plan;         /* what is mended; NULL: nothing is */
    struct verification *next; /* what the verification will be */
    int64_t entries;           /* added to the index's count */
    struct stand stand;
    struct stand other; /* who has the row that another should have */
    struct kx_buffer made;
    struct kx_buffer row; /* as it is stored */
};

/* ---- Mending ---------------------------------------------------------------
 */

/* Notes a place, and writes what should be there (size 0: nothing), if it is to
 * be mended. count: by how much the number of index entries is wrong. */
static enum kx_status found(struct check *check, enum kx_damage damage,
                            struct kx_slice index_key, struct kx_slice key,
                            int64_t count)
{
    struct kx_slice bytes = kx_buffer_slice(&check->made);
    verification_note(check->next, damage, index_key, key);
    if (check->plan == NULL || damage == KX_DUPLICATE)
        return KX_OK;
    check->entries += count;
    check->next->rows += (uint64_t)count;
    check->next->report.mended++;
    return plan_mend(check->plan, check->index, index_key, bytes, count);
}

/* A client's entry under the name of the index. */
static enum kx_status found_foreign(struct check *check,
                                    struct kx_slice index_key)
{
    struct kx_slice nothing = kx_slice(NULL, 0);
    verification_note(check->next, KX_DANGLING, index_key, nothing);
    if (check->plan == NULL)
        return KX_OK;
    check->next->report.mended++;
    return plan_mend(check->plan, NULL, index_key, nothing, -1);
}

static enum kx_status found_useless(struct check *check, enum kx_damage damage,
                                    struct kx_slice index_key,
                                    struct kx_slice key, int64_t count)
{
    check->made.size = 0;
    return found(check, damage, index_key, key, count);
}

/* Makes the row that a stand says; a new pointer has the stamp of the commit
 * that mends it. */
static enum kx_status make(struct check *check, size_t n, uint64_t stamp)
{
    check->made.size = 0;
    return form_write(check->index, &check->stand.extract, n, stamp,
                      &check->made);
}

/* ---- Rows against entries --------------------------------------------------
 */

/* A copy that a client has made is right when it says the same. */
static enum kx_status compare(const struct check *check,
                              const struct record *row,
                              const struct record *made, bool *same_out)
{
    struct kx_slice key = kx_slice(NULL, 0);
    struct kx_value theirs = record_entry(row, key).value;
    struct kx_value ours = record_entry(made, key).value;
    *same_out = row->expires_at_ms == made->expires_at_ms && row->stamp != 0 &&
                row->stamp <= check->store->catalog->stamp &&
                (row->encoding == KX_POINTER) == (made->encoding == KX_POINTER);
    if (!*same_out || row->encoding == KX_POINTER)
        return KX_OK;
    if (row->own)
        return value_equal(&ours, &theirs, check->mem, same_out);
    *same_out = row->stamp == made->stamp && row->encoding == made->encoding &&
                kx_equal(row->value, made->value) &&
                kx_equal(row->media_type, made->media_type);
    return KX_OK;
}

static enum kx_status check_content(struct check *check, struct kx_slice key,
                                    const struct record *row)
{
    struct record made;
    bool same = false;
    struct kx_slice owner = kx_buffer_slice(&check->stand.key);
    enum kx_status status = make(check, check->stand.n, row->stamp);
    if (status != KX_OK)
        return status;
    if (!record_read(kx_buffer_slice(&check->made), &made))
        return KX_FAILED;
    status = compare(check, row, &made, &same);
    if (status != KX_OK || same)
        return status;
    if (check->plan != NULL)
        status = make(check, check->stand.n, check->plan->stamp);
    return status == KX_OK ? found(check, KX_STALE, key, owner, 0) : status;
}

/* A row that cannot be read, or is a client's, is in the way of what should be
 * there, which is missed later. */
static enum kx_status check_row(struct check *check, struct kx_slice key,
                                struct kx_slice bytes)
{
    struct record row;
    struct kx_slice nobody = kx_slice(NULL, 0);
    if (!record_read(bytes, &row))
        return found_useless(check, KX_DANGLING, key, nobody, 0);
    if (row.index == 0)
        return found_foreign(check, key);
    if (row.index != check->index->id)
        return KX_OK; /* of another index of this name, which comes or goes */
    check->next->report.done++;
    check->next->rows++;
    form_pick(check->index, &row);
    enum kx_status status = stand_find(&check->stand, key, &row);
    if (status == KX_ABSENT)
        return found_useless(check, KX_DANGLING, key, nobody, -1);
    if (status == KX_NOT_INDEXABLE)
        return found_useless(check, KX_STALE, key,
                             kx_buffer_slice(&check->stand.key), -1);
    return status == KX_OK ? check_content(check, key, &row) : status;
}

/* ---- Entries against rows --------------------------------------------------
 */

/* The row under a key as this job leaves it. */
static enum kx_status read_row(struct check *check, struct kx_slice key,
                               struct kx_slice *bytes_out)
{
    if (check->plan != NULL)
        return overlay_get(check->plan->overlay, key, bytes_out);
    enum kx_status status =
        table_get(check->store->env, TABLE_ENTRIES, key, &check->row);
    *bytes_out = kx_buffer_slice(&check->row);
    return status;
}

/* Another entry has the row: has it the value, too? */
static enum kx_status check_other(struct check *check, struct kx_slice key,
                                  const struct record *row)
{
    enum kx_status status = stand_find(&check->other, key, row);
    if (status == KX_OK && record_expired(&check->other.record, kx_now_ms()))
        return KX_ABSENT;
    return status == KX_NOT_INDEXABLE ? KX_ABSENT : status;
}

static enum kx_status check_key(struct check *check, size_t n)
{
    struct record row;
    struct kx_slice bytes;
    int64_t count = 1;
    struct extract *extract = &check->stand.extract;
    struct kx_slice key = extract_key(extract, n);
    size_t skip = check->index->declaration->prefix.size;
    enum kx_status status = read_row(check, key, &bytes);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    if (status == KX_OK && record_read(bytes, &row) &&
        row.index == check->index->id) {
        if (kx_equal(
                record_owner(&row, key),
                kx_slice(extract->key.data + skip, extract->key.size - skip)))
            return KX_OK;
        count = 0;
        status = check_other(check, key, &row);
        if (status == KX_OK)
            return found(check, KX_DUPLICATE, key, extract->key, 0);
        if (status != KX_ABSENT)
            return status;
    }
    if (check->plan != NULL)
        status = make(check, n, check->plan->stamp);
    return status == KX_OK || status == KX_ABSENT
               ? found(check, KX_MISSING, key, extract->key, count)
               : status;
}

/* What cannot be indexed has no rows; so has what is expired, once it is
 * removed. */
static enum kx_status check_entry(struct check *check, struct kx_slice key,
                                  struct kx_slice bytes)
{
    struct record *record = &check->stand.record;
    struct extract *extract = &check->stand.extract;
    const struct declaration *declaration = check->index->declaration;
    if (!record_read(bytes, record) || record->index != 0)
        return KX_OK;
    check->next->report.done++;
    if (!declaration_covers(declaration, key) ||
        record_expired(record, kx_now_ms()))
        return KX_OK;
    enum kx_status status = extract_keys(extract, declaration, key, record);
    for (size_t n = 0; status == KX_OK && n < extract->count; n++)
        status = check_key(check, n);
    return status == KX_NOT_INDEXABLE ? KX_OK : status;
}

/* ---- Jobs ------------------------------------------------------------------
 */

bool verify_possible(const struct index *index)
{
    return index->state == KX_INDEX_READY && index->form.target == NULL &&
           !index_adopts(index);
}

bool verify_waits(const struct index *index)
{
    return index->verification != NULL && index->verification->report.running &&
           verify_possible(index) && !index->form.mixed;
}

struct index *verify_next(const struct kx_store *store)
{
    const struct catalog *catalog = store->catalog;
    int64_t now_ms = kx_now_ms();
    for (size_t i = 0; i < catalog->count; i++)
        if (verify_waits(catalog->indexes[i]) &&
            pace_allowance(&catalog->indexes[i]->pace, now_ms) > 0)
            return catalog->indexes[i];
    return NULL;
}

static enum kx_status look_at_rows(struct check *check, struct kx_slice start,
                                   struct kx_slice end, size_t limit)
{
    struct kx_slice key;
    struct kx_slice bytes;
    struct range *range = check->store->range;
    struct verification *next = check->next;
    enum kx_status status = range_begin(range, start, end, false);
    for (size_t i = 0; status == KX_OK && i < limit; i++) {
        status = range_next(range, &key, &bytes);
        if (status != KX_OK)
            break;
        memcpy(next->resume, key.data, key.size);
        next->resume_size = key.size;
        status = next->report.back ? check_entry(check, key, bytes)
                                   : check_row(check, key, bytes);
    }
    range_end(range);
    return status;
}

/* KX_END after the last one in this direction. */
static enum kx_status look(struct check *check)
{
    struct kx_buffer start;
    struct kx_buffer end;
    const struct verification *next = check->next;
    const struct declaration *declaration = check->index->declaration;
    struct kx_slice whole =
        next->report.back ? declaration->prefix : declaration->name_key;
    int64_t now_ms = kx_now_ms();
    size_t limit = pace_allowance(&check->index->pace, now_ms);
    if (limit > check->store->job_size)
        limit = check->store->job_size;
    pace_spend(&check->index->pace, limit, now_ms);
    kx_buffer_init(&start, check->mem);
    kx_buffer_init(&end, check->mem);
    kx_add_slice(&start, next->resume_size == 0
                             ? whole
                             : kx_slice(next->resume, next->resume_size));
    kx_add_byte(&start, 0);
    kx_add_slice(&end, whole);
    kx_add_byte(&end, 0xff);
    if (start.failed || end.failed)
        return KX_NO_MEMORY;
    return look_at_rows(check, kx_buffer_slice(&start), kx_buffer_slice(&end),
                        limit);
}

/* If no commit has written a row meanwhile, those that were seen are all. */
static int64_t recount(const struct check *check)
{
    const struct index *index = check->index;
    const struct verification *next = check->next;
    if (!next->counts || !next->report.repair ||
        atomic_load(&index->use.writes) != next->writes)
        return 0;
    return (int64_t)next->rows - (int64_t)index->entries - check->entries;
}

static void turn(struct check *check, struct batch *batch)
{
    struct verification *next = check->next;
    next->resume_size = 0;
    if (!next->report.back) {
        next->report.back = true;
        batch->index_entries = recount(check);
        return;
    }
    next->report.running = false;
    next->report.total = next->report.done;
    next->report.ended_at_ms = kx_now_ms();
}

static enum kx_status apply(struct check *check, struct batch *batch)
{
    uint64_t number = 0;
    if (check->plan == NULL || overlay_size(check->plan->overlay) == 0) {
        talloc_free(check->plan);
        batch->durable = !check->next->report.running;
        return jobs_apply(check->store, batch);
    }
    batch->plan = check->plan;
    batch->stamp = check->plan->stamp;
    enum kx_status status = batch_apply(check->store, batch, &number);
    if (status == KX_OK)
        writer_settle(check->store, number);
    else
        talloc_free(check->plan);
    return status;
}

static bool prepare(struct check *check)
{
    struct kx_store *store = check->store;
    const struct index *index = check->index;
    check->mem = talloc_new(NULL);
    check->next =
        talloc_memdup(index, index->verification, sizeof *index->verification);
    if (check->mem == NULL || check->next == NULL)
        return false;
    kx_buffer_init(&check->made, check->mem);
    kx_buffer_init(&check->row, check->mem);
    stand_init(&check->stand, check->mem, store->env, index);
    stand_init(&check->other, check->mem, store->env, index);
    if (!check->next->report.repair)
        return true;
    check->plan = plan_create(&store->base);
    if (check->plan != NULL)
        check->plan->stamp++;
    return check->plan != NULL;
}

/* Done again after an error. */
void verify_step(struct kx_store *store, struct index *index)
{
    struct check check = {.store = store, .index = index};
    struct batch batch = {.action = CATALOG_VERIFY, .index = index};
    enum kx_status status = prepare(&check) ? look(&check) : KX_NO_MEMORY;
    batch.verification = check.next;
    if (status == KX_END)
        turn(&check, &batch);
    if (status == KX_OK || status == KX_END)
        status = apply(&check, &batch);
    else
        talloc_free(check.plan);
    talloc_free(batch.verification);
    talloc_free(check.mem);
    if (status != KX_OK)
        kx_log(KX_LOG_WARNING, "verification", "status=%s",
               kx_status_name(status));
}
