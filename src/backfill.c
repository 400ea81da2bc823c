/* Building a declared index from the entries that are there already.
 *
 * Each job reads the next entries in key order, sorts the index entries they
 * give (neighbours share pages) and adds those that no write has added
 * meanwhile. Its progress is stored with them: after a crash the build goes on
 * where the last stored job ended. A job done twice changes nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>

#include "extract.h"
#include "jobs.h"
#include "range.h"
#include "table.h"

struct job {
    struct kx_store *store;
    struct index *index;
    void *mem;
    struct txn_write *adds;
    size_t add_count;
    struct build build; /* as it is after this job */
    bool ended;         /* there are no more entries */
    int64_t now_ms;
    uint64_t stamp;
    struct kx_buffer key; /* scratch */
    struct kx_buffer record;
};

/* Copies an index entry's row into the list of adds. */
static enum kx_status keep_add(struct job *job)
{
    size_t size = job->key.size + job->record.size;
    uint8_t *bytes = talloc_size(job->mem, size);
    if (bytes == NULL || job->key.failed || job->record.failed)
        return KX_NO_MEMORY;
    memcpy(bytes, job->key.data, job->key.size);
    memcpy(bytes + job->key.size, job->record.data, job->record.size);
    job->adds[job->add_count++] = (struct txn_write){
        .type = TXN_ADD,
        .table = TABLE_ENTRIES,
        .key = kx_slice(bytes, job->key.size),
        .value = kx_slice(bytes + job->key.size, job->record.size)};
    return KX_OK;
}

static enum kx_status add_entry(struct job *job, struct kx_slice key,
                                const struct record *record)
{
    const struct declaration *declaration = job->index->declaration;
    uint16_t owner_at = 0;
    enum kx_status status =
        extract_key(declaration, key, record, &job->key, &owner_at);
    if (status == KX_ABSENT) {
        job->build.skipped++;
        return KX_OK;
    }
    if (status != KX_OK)
        return status;
    struct record entry =
        extract_record(declaration, key, record, owner_at, job->index->id);
    entry.stamp = entry.encoding == KX_POINTER ? job->stamp : record->stamp;
    job->record.size = 0;
    record_write(&entry, &job->record);
    return keep_add(job);
}

static enum kx_status read_entry(struct job *job, struct kx_slice key,
                                 struct kx_slice bytes)
{
    struct record record;
    if (!record_read(bytes, &record))
        return KX_FAILED;
    memcpy(job->build.resume, key.data, key.size);
    job->build.resume_size = key.size;
    if (record.index != 0)
        return KX_OK;
    job->build.done++;
    job->build.run_done++;
    /* An expired entry must not take a unique value from a live one. */
    if (!declaration_covers(job->index->declaration, key) ||
        (job->index->declaration->unique &&
         record_expired(&record, job->now_ms)))
        return KX_OK;
    return add_entry(job, key, &record);
}

/* The keys to read: behind the last one that was read, below the prefix's end.
 */
static bool bounds(struct job *job, struct kx_slice *start,
                   struct kx_slice *end)
{
    struct kx_slice prefix = job->index->declaration->prefix;
    struct kx_slice from = prefix;
    if (job->build.resume_size != 0)
        from = kx_slice(job->index->build.resume, job->build.resume_size);
    job->key.size = 0;
    kx_add_slice(&job->key, from);
    kx_add_byte(&job->key, 0);
    job->record.size = 0;
    kx_add_slice(&job->record, prefix);
    kx_add_byte(&job->record, 0xff);
    uint8_t *copy = talloc_size(job->mem, job->key.size + job->record.size);
    if (copy == NULL || job->key.failed || job->record.failed)
        return false;
    memcpy(copy, job->key.data, job->key.size);
    memcpy(copy + job->key.size, job->record.data, job->record.size);
    *start = kx_slice(copy, job->key.size);
    *end = kx_slice(copy + job->key.size, job->record.size);
    return true;
}

static enum kx_status read_entries(struct job *job)
{
    struct kx_slice start;
    struct kx_slice end;
    struct range *range = job->store->range;
    if (!bounds(job, &start, &end))
        return KX_NO_MEMORY;
    enum kx_status status = range_begin(range, start, end, false);
    size_t read = 0;
    while (status == KX_OK && read++ < job->store->job_size) {
        struct kx_slice key;
        struct kx_slice bytes;
        status = range_next(range, &key, &bytes);
        if (status == KX_OK)
            status = read_entry(job, key, bytes);
    }
    range_end(range);
    job->ended = status == KX_END;
    return job->ended ? KX_OK : status;
}

static int by_key(const void *a, const void *b)
{
    const struct txn_write *left = a;
    const struct txn_write *right = b;
    return kx_compare(left->key, right->key);
}

/* Says in the index's failure which two entries have the same value. */
static void note_conflict(struct job *job, const struct txn_write *add,
                          struct kx_slice other)
{
    const struct declaration *declaration = job->index->declaration;
    struct record mine;
    struct kx_buffer text;
    kx_buffer_init(&text, job->mem);
    kx_add_text(&text, "two entries have the same value: ");
    job->key.size = 0;
    kx_add_slice(&job->key, declaration->prefix);
    kx_add_slice(&job->key, other);
    kx_key_to_json(kx_buffer_slice(&job->key), &text);
    kx_add_text(&text, " and ");
    job->key.size = 0;
    kx_add_slice(&job->key, declaration->prefix);
    if (record_read(add->value, &mine))
        kx_add_slice(&job->key, record_owner(&mine, add->key));
    kx_key_to_json(kx_buffer_slice(&job->key), &text);
    snprintf(job->index->failure, sizeof job->index->failure, "%.*s",
             (int)text.size, (const char *)text.data);
}

/* The key of an add was there. KX_OK: the row may stay. KX_ABSENT: it must be
 * overwritten. KX_UNIQUE_VIOLATION: another live entry has it. */
static enum kx_status examine(struct job *job, const struct txn_write *add)
{
    struct record there;
    struct record mine;
    enum kx_status status =
        table_get(job->store->env, TABLE_ENTRIES, add->key, &job->record);
    if (status != KX_OK)
        return status;
    if (!record_read(kx_buffer_slice(&job->record), &there) ||
        !record_read(add->value, &mine))
        return KX_FAILED;
    if (there.index != job->index->id)
        return KX_ABSENT; /* left behind by a dropped index */
    struct kx_slice owner = record_owner(&there, add->key);
    if (kx_equal(owner, record_owner(&mine, add->key)))
        return KX_OK;
    if (record_expired(&there, job->now_ms))
        return KX_ABSENT;
    note_conflict(job, add, owner);
    return KX_UNIQUE_VIOLATION;
}

/* Looks at the adds whose key was there and keeps those that must overwrite in
 * front of the list. *added_out: rows that are new. */
static enum kx_status settle_existing(struct job *job, struct batch *batch,
                                      int64_t *added_out)
{
    size_t kept = 0;
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < job->add_count; i++) {
        if (!job->adds[i].existed) {
            ++*added_out;
            continue;
        }
        status = examine(job, &job->adds[i]);
        if (status == KX_OK)
            continue;
        if (status != KX_ABSENT)
            return status;
        job->adds[kept] = job->adds[i];
        job->adds[kept++].type = TXN_PUT;
        ++*added_out;
        status = KX_OK;
    }
    batch->writes = job->adds;
    batch->write_count = kept;
    return status;
}

/* Adds the rows, then stores the progress and what had to be overwritten. */
static enum kx_status apply(struct job *job)
{
    struct kx_store *store = job->store;
    struct batch batch = {.action = CATALOG_BUILD,
                          .index = job->index,
                          .state = KX_INDEX_BUILDING,
                          .build = job->build,
                          .stamp = job->stamp};
    qsort(job->adds, job->add_count, sizeof job->adds[0], by_key);
    gate_apply_begin(&store->gate);
    enum kx_status status = txn_apply(store->env, job->adds, job->add_count);
    gate_apply_cancel(&store->gate);
    if (status == KX_OK)
        status = settle_existing(job, &batch, &batch.index_entries);
    if (status == KX_UNIQUE_VIOLATION) {
        batch.state = KX_INDEX_FAILED;
        batch.write_count = 0;
    } else if (status != KX_OK) {
        return status;
    }
    return jobs_apply(store, &batch);
}

/* All entries are read: once everything is on disk the index is ready. */
static enum kx_status finish(struct job *job)
{
    struct kx_store *store = job->store;
    struct batch batch = {.action = CATALOG_BUILD,
                          .index = job->index,
                          .state = KX_INDEX_READY,
                          .build = job->build};
    batch.build.total = batch.build.done;
    batch.build.resume_size = 0;
    enum kx_status status = env_flush(store->env);
    if (status == KX_OK)
        status = jobs_apply(store, &batch);
    if (status == KX_OK)
        status = env_flush(store->env);
    if (status == KX_OK)
        kx_log(KX_LOG_INFO, "index-ready",
               "index=%.*s entries=%" PRIu64 " read=%" PRIu64,
               (int)job->index->declaration->name.size,
               (const char *)job->index->declaration->name.data,
               job->index->entries, batch.build.done);
    return status;
}

static enum kx_status run(struct job *job)
{
    job->adds = talloc_array(job->mem, struct txn_write,
                             (unsigned)job->store->job_size);
    if (job->adds == NULL)
        return KX_NO_MEMORY;
    kx_buffer_init(&job->key, job->mem);
    kx_buffer_init(&job->record, job->mem);
    enum kx_status status = read_entries(job);
    if (status == KX_OK)
        status = apply(job);
    if (status == KX_OK && job->ended && job->index->state == KX_INDEX_BUILDING)
        status = finish(job);
    return status;
}

void backfill_step(struct kx_store *store, struct index *index)
{
    struct job job = {.store = store,
                      .index = index,
                      .mem = talloc_pool(NULL, 64 << 10),
                      .build = index->build,
                      .now_ms = kx_now_ms(),
                      .stamp = store->catalog->stamp + 1};
    uint64_t done = job.build.run_done;
    if (job.build.run_started_ns == 0)
        job.build.run_started_ns = kx_monotonic_ns();
    enum kx_status status = job.mem == NULL ? KX_NO_MEMORY : run(&job);
    if (status == KX_OK)
        atomic_fetch_add(&store->backfilled, job.build.run_done - done);
    else
        kx_log(KX_LOG_WARNING, "backfill", "status=%s", kx_status_name(status));
    talloc_free(job.mem);
}
