/* One step of a build: a merge of gathered rows with the stored rows, both in
 * key order, so that one scan replaces a look-up for each row. A step that is
 * repeated changes nothing: its rows are stored already. */
#include "builds/build_merge.h"

#include <talloc.h>

#include "catalog/row_form.h"
#include "plan/plan_adopt.h"
#include "plan/conflict_rows.h"
#include "engine/engine.h"
#include "engine/engine.h"

/* After so many stored rows a new search in the tree is cheaper. */
enum { PASSED_FEW = 64 };

struct merge_step {
    struct writer *writer;
    struct batch *batch;
    void *mem;
    size_t count; /* of rows in batch->writes; write_count of them are kept */
    size_t next;  /* the row to merge next */
    struct kx_slice stored;       /* under the key of that row */
    const struct row_write *last; /* kept last, not a conflict row; or NULL */
    struct kx_adoption *adoption; /* NULL: the index does not adopt */
};

/* What to do with a row. */
enum row_action {
    ROW_IS_NEW,
    ROW_OVERWRITES, /* the stored row belongs to a dropped index */
    ROW_REPLACES,   /* or to an owner that has expired */
    ROW_IS_THERE,   /* a commit or an earlier step has added it */
    ROW_CONFLICTS,  /* another live entry has this unique value */
    ROW_ADOPTS,     /* a client has written an entry there */
    ROW_IS_BROKEN
};

/* The stored row belongs to an entry that has expired. While the index has
 * conflicts the new owner may already have a conflict row. It then waits, like
 * other owners, until the expiry job removes that entry and gives the value to
 * the next owner. */
static enum row_action replace(const struct merge_step *merge)
{
    const struct batch *batch = merge->batch;
    int64_t conflicts =
        (int64_t)batch->index->conflicts + batch->index_conflicts;
    return conflicts == 0 ? ROW_REPLACES : ROW_CONFLICTS;
}

static enum row_action examine(const struct merge_step *merge,
                               const struct row_write *row,
                               struct kx_slice bytes)
{
    const struct index *index = merge->batch->index;
    struct record there;
    struct record mine;
    if (bytes.size == 0)
        return ROW_IS_NEW;
    if (!record_read(bytes, &there) || !record_read(row->value, &mine))
        return ROW_IS_BROKEN;
    if (there.index == 0 && index_adopts(index))
        return ROW_ADOPTS;
    if (!row_form_of(&there, index->id))
        return ROW_OVERWRITES;
    if (kx_equal(record_owner(&mine, row->key), record_owner(&there, row->key)))
        return ROW_IS_THERE;
    return record_expired(&there, kx_now_ms()) ? replace(merge) : ROW_CONFLICTS;
}

/* The row will be overwritten, so the cache must drop what is stored now. That
 * is right even if the batch is never applied. */
static void forget_cached(struct merge_step *merge, struct kx_slice key)
{
    record_cache_update(merge->writer->base.cache, key, kx_slice(NULL, 0),
                        false);
}

/* The row of an index that this one is to replace stays under its key. */
static enum kx_status keep_row(struct merge_step *merge)
{
    struct kx_buffer joined;
    struct batch *batch = merge->batch;
    struct row_write row = batch->writes[merge->next];
    kx_buffer_init(&joined, merge->mem);
    enum kx_status status =
        catalog_join(merge->writer->base.catalog, batch->index, merge->stored,
                     &row.value, &joined);
    batch->writes[batch->write_count] = row;
    merge->last = &batch->writes[batch->write_count++];
    return status;
}

/* Keeps the row and counts it as a new entry of the index. */
static enum kx_status keep_new(struct merge_step *merge)
{
    struct batch *batch = merge->batch;
    if (merge->adoption != NULL)
        plan_adopt_count(merge->adoption, KX_ADDED,
                         batch->writes[merge->next].key);
    batch->index_entries++;
    return keep_row(merge);
}

/* KX_OK: the index has a conflict row under this key; KX_ABSENT: it has none;
 * errors of the storage. */
static enum kx_status find_conflict(const struct merge_step *merge,
                                    struct kx_slice key)
{
    struct record there;
    struct kx_buffer value;
    kx_buffer_init(&value, merge->mem);
    enum kx_status status =
        engine_get(merge->writer->base.view, TABLE_ENTRIES, key, &value);
    if (status == KX_OK && (!record_read(kx_buffer_slice(&value), &there) ||
                            there.index != merge->batch->index->id))
        status = KX_ABSENT;
    kx_buffer_free(&value);
    return status;
}

/* Keeps the conflict row of the owner instead of the row. */
static enum kx_status keep_conflict(struct merge_step *merge,
                                    const struct row_write *row)
{
    struct batch *batch = merge->batch;
    struct record mine;
    struct record record;
    struct kx_buffer key;
    struct kx_buffer value;
    kx_buffer_init(&key, merge->mem);
    kx_buffer_init(&value, merge->mem);
    record_read(row->value, &mine);
    conflict_rows_make(batch->index, row->key, record_owner(&mine, row->key),
                       &key, &record);
    if (key.failed)
        return KX_NO_MEMORY;
    enum kx_status status = find_conflict(merge, kx_buffer_slice(&key));
    if (status != KX_ABSENT)
        return status;
    record.stamp = mine.stamp;
    record.expires_at_ms = mine.expires_at_ms;
    record_write(&record, &value);
    forget_cached(merge, kx_buffer_slice(&key));
    batch->writes[batch->write_count++] =
        (struct row_write){.type = ROW_PUT,
                           .table = TABLE_ENTRIES,
                           .key = kx_buffer_slice(&key),
                           .value = kx_buffer_slice(&value)};
    batch->index_conflicts++;
    return value.failed ? KX_NO_MEMORY : KX_OK;
}

/* The row replaces a hand-kept entry. If that entry is right, the row takes its
 * content over. */
static enum kx_status keep_adopted(struct merge_step *merge,
                                   struct kx_slice stored)
{
    struct batch *batch = merge->batch;
    struct row_write *row = &batch->writes[merge->next];
    struct record hand;
    struct record record;
    if (!record_read(stored, &hand) || !record_read(row->value, &record))
        return KX_FAILED;
    batch->entries--;
    forget_cached(merge, row->key);
    if (record_expired(&hand, kx_now_ms())) {
        return keep_new(merge);
    }
    enum kx_status status =
        plan_adopt_merge(&hand, row->key, &record, merge->mem);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    bool right = status == KX_OK;
    plan_adopt_count(merge->adoption, right ? KX_KEPT : KX_MENDED, row->key);
    batch->index_entries++;
    status = keep_row(merge);
    if (status != KX_OK || !right)
        return status;
    struct kx_buffer value;
    kx_buffer_init(&value, merge->mem);
    record_write(&record, &value);
    batch->writes[batch->write_count - 1].value = kx_buffer_slice(&value);
    return value.failed ? KX_NO_MEMORY : KX_OK;
}

/* Merges the next row; `stored` is what the table has under its key (size 0:
 * nothing). A row that this step has kept under the key counts instead. */
static enum kx_status merge_row(struct merge_step *merge,
                                struct kx_slice stored)
{
    const struct row_write *row = &merge->batch->writes[merge->next];
    if (merge->last != NULL && kx_equal(merge->last->key, row->key))
        stored = merge->last->value;
    merge->stored = stored;
    switch (examine(merge, row, stored)) {
    case ROW_IS_NEW:
        return keep_new(merge);
    case ROW_OVERWRITES:
        forget_cached(merge, row->key);
        return keep_new(merge);
    case ROW_REPLACES:
        forget_cached(merge, row->key);
        return keep_row(merge);
    case ROW_IS_THERE:
        return KX_OK;
    case ROW_CONFLICTS:
        return keep_conflict(merge, row);
    case ROW_ADOPTS:
        return keep_adopted(merge, stored);
    case ROW_IS_BROKEN:
        break;
    }
    return KX_FAILED;
}

/* Merges the rows below `key`, or all if it is empty: nothing is stored under
 * their keys. */
static enum kx_status merge_below(struct merge_step *merge, struct kx_slice key)
{
    const struct row_write *rows = merge->batch->writes;
    enum kx_status status = KX_OK;
    while (status == KX_OK && merge->next < merge->count &&
           (key.size == 0 || kx_compare(rows[merge->next].key, key) < 0)) {
        status = merge_row(merge, kx_slice(NULL, 0));
        merge->next++;
    }
    return status;
}

/* Of several rows with this key, moves the one that agrees with the hand-kept
 * entry to the front. */
static void prefer_adopted(struct merge_step *merge, struct kx_slice key,
                           struct kx_slice stored)
{
    struct row_write *rows = merge->batch->writes;
    struct row_write *first = &rows[merge->next];
    struct record hand;
    struct record record;
    if (merge->adoption == NULL || !record_read(stored, &hand))
        return;
    for (size_t i = merge->next; i < merge->count && kx_equal(rows[i].key, key);
         i++) {
        if (!record_read(rows[i].value, &record) ||
            plan_adopt_merge(&hand, key, &record, merge->mem) != KX_OK)
            continue;
        struct row_write other = *first;
        *first = rows[i];
        rows[i] = other;
        return;
    }
}

/* Merges the rows with this key, under which `stored` is found. */
static enum kx_status merge_at(struct merge_step *merge, struct kx_slice key,
                               struct kx_slice stored)
{
    const struct row_write *rows = merge->batch->writes;
    enum kx_status status = KX_OK;
    prefer_adopted(merge, key, stored);
    while (status == KX_OK && merge->next < merge->count &&
           kx_equal(rows[merge->next].key, key)) {
        status = merge_row(merge, stored);
        merge->next++;
    }
    return status;
}

/* Searches the tree for the row to merge next. */
static enum kx_status seek(const struct merge_step *merge)
{
    return engine_range_begin(merge->writer->base.range,
                              merge->batch->writes[merge->next].key,
                              kx_slice(NULL, 0));
}

/* Reads the next stored row. After many of them it searches for the row to
 * merge next: a small scan has few rows for a whole index. */
static enum kx_status read_on(const struct merge_step *merge, size_t *passed,
                              struct kx_slice *key_out,
                              struct kx_slice *bytes_out)
{
    enum kx_status status = KX_OK;
    if (*passed == PASSED_FEW) {
        status = seek(merge);
        *passed = 0;
    }
    if (status == KX_OK)
        status =
            engine_range_next(merge->writer->base.range, key_out, bytes_out);
    ++*passed;
    return status;
}

static enum kx_status merge_all(struct merge_step *merge)
{
    struct kx_slice key;
    struct kx_slice bytes;
    struct kx_slice last = merge->batch->writes[merge->count - 1].key;
    size_t passed = 0;
    enum kx_status status = seek(merge);
    while (status == KX_OK && merge->next < merge->count) {
        size_t before = merge->next;
        status = read_on(merge, &passed, &key, &bytes);
        if (status != KX_OK || kx_compare(key, last) > 0)
            break;
        status = merge_below(merge, key);
        if (status == KX_OK)
            status = merge_at(merge, key, bytes);
        if (merge->next != before)
            passed = 0;
    }
    engine_range_end(merge->writer->base.range);
    if (status == KX_OK || status == KX_END)
        status = merge_below(merge, kx_slice(NULL, 0));
    return status;
}

enum kx_status build_merge_rows(struct writer *writer, void *mem,
                                struct batch *batch, size_t count)
{
    struct merge_step merge = {
        .writer = writer, .batch = batch, .mem = mem, .count = count};
    if (index_adopts(batch->index)) {
        merge.adoption =
            talloc_memdup(mem, &batch->index->adoption, sizeof *merge.adoption);
        if (merge.adoption == NULL)
            return KX_NO_MEMORY;
        batch->action = CATALOG_BUILD;
        batch->state = batch->index->state;
        batch->build = batch->index->build;
        batch->adoption = merge.adoption;
        batch->new_index_rows = false; /* they can be read by their keys */
    }
    return merge_all(&merge);
}
