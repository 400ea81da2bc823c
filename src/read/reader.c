/* Point reads inside a view, and the description of indexes. Scans are in
 * reader_scan.c.
 *
 * No read waits for a flush. Instead each look-up asks the view whether its key
 * is part of the batch in flight, also when nothing is found there (it may just
 * have been removed), and the reader keeps the answer: kx_read_end tells
 * which flush the reply must wait for. */
#include <stdio.h>
#include <talloc.h>

#include "catalog/row_form.h"
#include "engine/engine.h"
#include "read/reader_state.h"

enum { KEPT_MAX = 128 << 10 /* bytes of a buffer, from view to view */ };

enum kx_status kx_reader_open(struct kx_store *store,
                              struct kx_reader **reader_out)
{
    struct kx_reader *reader = talloc_zero(NULL, struct kx_reader);
    if (reader == NULL)
        return KX_NO_MEMORY;
    reader->store = store;
    reader->reads = &reader->own;
    kx_buffer_init(&reader->start, reader);
    kx_buffer_init(&reader->end, reader);
    kx_buffer_init(&reader->bound, reader);
    kx_buffer_init(&reader->position, reader);
    kx_buffer_init(&reader->ahead, reader);
    kx_buffer_init(&reader->primary, reader);
    kx_buffer_init(&reader->record, reader);
    kx_buffer_init(&reader->row, reader);
    kx_buffer_init(&reader->totals, reader);
    enum kx_status status = engine_view_open(
        reader, store->engine, &store->view.before_image, &reader->view);
    if (status == KX_OK)
        status = engine_range_create(reader, reader->view, TABLE_ENTRIES,
                                     &reader->rows);
    if (status == KX_OK)
        status = engine_range_create(reader, reader->view, TABLE_ENTRIES,
                                     &reader->primaries);
    if (status != KX_OK) {
        talloc_free(reader);
        return status;
    }
    *reader_out = reader;
    return KX_OK;
}

void kx_reader_close(struct kx_reader *reader)
{
    talloc_free(reader);
}

void kx_reader_count(struct kx_reader *reader, struct kx_reads *reads)
{
    reader->reads = reads != NULL ? reads : &reader->own;
}

/* A view has one time, so no entry expires in the middle of it. */
static void begin(struct kx_reader *reader)
{
    reader->now_ms = kx_now_ms();
    reader->flush = 0;
    reader->looked = 0;
}

bool kx_read_hold(struct kx_reader *reader, struct kx_ticket *ticket)
{
    if (!reader->held)
        reader->held = view_enter_or_park(&reader->store->view, ticket);
    return reader->held;
}

bool kx_read_try_hold(struct kx_reader *reader)
{
    if (!reader->held && !reader->memory_only)
        reader->held = view_try_enter(&reader->store->view);
    return reader->held;
}

bool kx_read_hold_until(struct kx_reader *reader, uint64_t until_ns)
{
    if (!reader->held)
        reader->held = view_enter_until(&reader->store->view, until_ns);
    engine_view_limit(reader->view, until_ns);
    return reader->held;
}

void kx_reader_use_memory_only(struct kx_reader *reader, bool memory_only)
{
    reader->memory_only = memory_only;
}

struct kx_disk_reads kx_disk_reads(const struct kx_store *store)
{
    return engine_disk_reads(store->engine);
}

void kx_read_hold_done(struct kx_store *store)
{
    view_parked_done(&store->view);
}

void kx_read_release(struct kx_reader *reader)
{
    if (reader->held) {
        engine_view_end(reader->view);
        view_leave(&reader->store->view);
    }
    reader->held = false;
}

void kx_read_begin(struct kx_reader *reader)
{
    if (!reader->held)
        view_enter(&reader->store->view);
    reader->viewing = true;
    begin(reader);
}

bool kx_reader_is_idle(const struct kx_reader *reader)
{
    return !reader->held && !reader->viewing;
}

void reader_saw(struct kx_reader *reader, uint64_t flush)
{
    if (flush > reader->flush)
        reader->flush = flush;
}

/* The keys between the scan's beginning and where it stopped were looked at,
 * whether present or not: a batch in flight may have removed one of them. Keys
 * after that were not looked at and do not count. */
static void note_seen(struct kx_reader *reader, struct kx_slice start,
                      struct kx_slice end, struct kx_slice position, bool ended)
{
    const struct view *view = &reader->store->view;
    if (!ended && position.size == 0)
        return;
    if (!ended) {
        reader_saw(reader, view_pending_key(view, position));
        if (reader->reverse)
            start = position;
        else
            end = position;
    }
    reader_saw(reader, view_pending_range(view, start, end));
}

/* Each scan of a merge has looked at its next row as well. */
static void end_merge(struct kx_reader *reader,
                      const struct reader_ranges *several)
{
    for (size_t i = 0; several->sources != NULL && i < several->ranges->count;
         i++) {
        const struct merge_source *source = &several->sources[i];
        note_seen(reader, kx_buffer_slice(&source->start),
                  kx_buffer_slice(&source->end), source->key, source->ended);
        if (source->rows != NULL)
            engine_range_end(source->rows);
    }
    reader->scanning = false;
}

void reader_ranges_end(struct kx_reader *reader)
{
    if (reader->ranges != NULL && reader->ranges->ranges->merge)
        end_merge(reader, reader->ranges);
    TALLOC_FREE(reader->ranges);
}

void kx_scan_end(struct kx_reader *reader)
{
    if (!reader->scanning)
        return;
    reader_ranges_end(reader);
    if (reader->scanning) /* it was not a merge */
        note_seen(reader, kx_buffer_slice(&reader->start),
                  kx_buffer_slice(&reader->end),
                  kx_buffer_slice(&reader->position), reader->ended);
    engine_range_end(reader->rows);
    engine_range_end(reader->primaries);
    reader->scanning = false;
}

/* Frees large buffers: otherwise each reader would keep one as large as its
 * largest value. */
static void trim(struct kx_buffer *buffer)
{
    if (buffer->capacity > KEPT_MAX)
        kx_buffer_free(buffer);
}

uint64_t kx_read_end(struct kx_reader *reader)
{
    kx_scan_end(reader);
    engine_range_end(reader->primaries);
    trim(&reader->record);
    trim(&reader->row);
    TALLOC_FREE(reader->due);
    if (reader->resolved != 0)
        atomic_fetch_add(&reader->store->stats.resolved, reader->resolved);
    reader->resolved = 0;
    reader->viewing = false;
    if (!reader->held) {
        engine_view_end(reader->view);
        view_leave(&reader->store->view);
    }
    return reader->flush;
}

uint64_t kx_read_bytes(const struct kx_reader *reader)
{
    return reader->looked;
}

/* Never shows 100 %: then the index would be ready. */
enum kx_status reader_not_ready(const struct index *index,
                                struct kx_fault *fault)
{
    const struct build_progress *build = &index->build;
    double percent = build->total == 0
                         ? 0
                         : 100.0 * (double)build->done / (double)build->total;
    const char *name = index->declaration->name_text;
    if (index->state == KX_INDEX_FAILED)
        return kx_fail(fault, KX_INDEX_NOT_READY, "index %s has failed: %s",
                       name, index->failure);
    if (index->state == KX_INDEX_CONFLICTED)
        return kx_fail(
            fault, KX_INDEX_NOT_READY,
            "index %s is conflicted: %llu %s a value that another entry has",
            name, (unsigned long long)index->conflicts,
            index->conflicts == 1 ? "entry has" : "entries have");
    return kx_fail(fault, KX_INDEX_NOT_READY,
                   "index %s is %s: %.0f %% of the entries have been read",
                   name, kx_index_state_text(index->state),
                   percent > 99 ? 99 : percent);
}

/* Reads the table as it was before the batch that is being applied. A row from
 * the before image is not put into the cache, where it would outlive the batch.
 */
static enum kx_status read_table(struct kx_reader *reader, struct kx_slice key,
                                 struct kx_buffer *bytes)
{
    struct kx_store *store = reader->store;
    struct kx_slice stored;
    if (before_image_find(&store->view.before_image, key, &stored)) {
        kx_buffer_clear(bytes);
        kx_add_slice(bytes, stored);
        if (bytes->failed)
            return KX_NO_MEMORY;
        return stored.size == 0 ? KX_ABSENT : KX_OK;
    }
    enum kx_status status = engine_get(reader->view, TABLE_ENTRIES, key, bytes);
    if (status == KX_OK)
        record_cache_fill(store->cache, key, kx_buffer_slice(bytes));
    return status;
}

enum kx_status reader_record(struct kx_reader *reader, struct kx_slice key,
                             struct kx_buffer *bytes, struct record *record_out)
{
    struct kx_store *store = reader->store;
    reader_saw(reader, view_pending_key(&store->view, key));
    if (!record_cache_get(store->cache, key, bytes)) {
        if (reader->cache_only)
            return KX_AGAIN;
        enum kx_status status = read_table(reader, key, bytes);
        if (status != KX_OK)
            return status;
    }
    reader_count(reader, bytes->size);
    if (!record_read(kx_buffer_slice(bytes), record_out))
        return KX_FAILED;
    catalog_pick_row(store->catalog, record_out);
    return catalog_shows(store->catalog, record_out, reader->now_ms)
               ? KX_OK
               : KX_ABSENT;
}

/* Totals as clients see them, in `bytes`, where the row lies already. */
static enum kx_status show_totals(struct kx_reader *reader, struct kx_slice key,
                                  struct kx_buffer *bytes, struct record *row,
                                  struct kx_entry *entry_out)
{
    if (reader->cache_only)
        return KX_AGAIN;
    enum kx_status status = reader_totals(reader, key, row, entry_out);
    if (status != KX_OK || !entry_out->reduced)
        return status;
    kx_buffer_clear(bytes);
    kx_add_slice(bytes, entry_out->value.data);
    entry_out->value.data = kx_buffer_slice(bytes);
    return bytes->failed ? KX_NO_MEMORY : KX_OK;
}

enum kx_status kx_read(struct kx_reader *reader, struct kx_slice key,
                       struct kx_buffer *record, struct kx_entry *entry_out,
                       struct kx_fault *fault)
{
    if (key.size == 0) /* nothing is stored there, and it may have no bytes */
        return KX_ABSENT;
    struct index *owner = catalog_owner(reader->store->catalog, key);
    if (owner != NULL && !index_shown(owner))
        return reader_not_ready(owner, fault);
    if (owner != NULL)
        index_usage_read(&owner->usage, reader->now_ms);
    struct record found;
    enum kx_status status = reader_record(reader, key, record, &found);
    if (status != KX_OK)
        return status;
    if (owner != NULL && found.index != 0) {
        row_form_show(owner, &found);
        if (declaration_aggregates(owner->declaration))
            return show_totals(reader, key, record, &found, entry_out);
    }
    record_show(&found, key, entry_out);
    return KX_OK;
}

/* A read without a view. KX_AGAIN: a view is necessary. */
static enum kx_status peek(struct kx_reader *reader, struct kx_slice key,
                           struct kx_buffer *record, struct kx_entry *entry_out,
                           struct kx_fault *fault)
{
    if (!reader->memory_only)
        view_peek_begin(&reader->store->view);
    else if (!view_peek_try(&reader->store->view))
        return KX_AGAIN;
    begin(reader);
    reader->cache_only = true;
    enum kx_status status = kx_read(reader, key, record, entry_out, fault);
    reader->cache_only = false;
    view_peek_end(&reader->store->view);
    return status;
}

uint64_t kx_read_alone(struct kx_reader *reader, struct kx_slice key,
                       struct kx_buffer *record, struct kx_entry *entry_out,
                       struct kx_fault *fault)
{
    if (!reader->held &&
        (reader->memory_only || !view_try_enter(&reader->store->view))) {
        fault->status = peek(reader, key, record, entry_out, fault);
        return reader->flush;
    }
    begin(reader);
    fault->status = kx_read(reader, key, record, entry_out, fault);
    return kx_read_end(reader);
}

static void describe_migration(const struct declaration *target,
                               enum kx_index_state state,
                               struct kx_index_info *info)
{
    if (info->state == KX_INDEX_READY)
        info->state = KX_INDEX_MIGRATING;
    info->target = target->text;
    info->migration = state;
}

/* The progress of an index that is built or migrated. */
static void describe_build(const struct index *built,
                           struct kx_index_info *info)
{
    const struct build_progress *build = &built->build;
    uint64_t now = kx_monotonic_ns();
    info->done = build->done + build->ahead;
    info->gathered = build->gathered;
    info->unwritten = build->unwritten;
    info->write_rate = build->write_rate;
    info->total = build->total > info->done ? build->total : info->done;
    info->skipped = build->skipped;
    info->started_at_ms = build->started_at_ms;
    info->resumed = build->resumed;
    info->paused = built->pace.paused;
    info->per_second_max = built->pace.per_second;
    info->sample_count = build->sample_count;
    for (size_t i = 0; i < build->sample_count; i++)
        info->samples[i] =
            kx_slice(build->samples[i].key, build->samples[i].size);
    if (build->run_started_ns != 0 && now > build->run_started_ns)
        info->per_second = (double)(info->done - build->run_base) * 1e9 /
                           (double)(now - build->run_started_ns);
    if (build->write_rate > 0)
        info->per_second = build->write_rate;
    snprintf(info->failure, sizeof info->failure, "%s", built->failure);
}

/* While the index is built, its counts lack the entries not read yet. */
static bool knows_left_out(const struct index *index)
{
    return !index->left_out_unknown && (index->state == KX_INDEX_READY ||
                                        index->state == KX_INDEX_CONFLICTED);
}

/* If a successor is built, the progress is the successor's. */
static void describe(const struct catalog *catalog, const struct index *index,
                     struct kx_index_info *info)
{
    const struct declaration *declaration = index->declaration;
    const struct index *successor = catalog_successor(catalog, index);
    const struct index *built = successor == NULL ? index : successor;
    *info = (struct kx_index_info){
        .name = declaration->name,
        .declaration = declaration->text,
        .state = index->state,
        .prefix = declaration->prefix,
        .queue = declaration->queue.declared,
        .entries = index->entries,
        .conflicts = index->conflicts + (built == index ? 0 : built->conflicts),
        .since_ms = index->usage.since_ms,
        .reads = atomic_load(&index->usage.reads),
        .last_read_ms = atomic_load(&index->usage.last_read_ms),
        .writes = atomic_load(&index->usage.writes),
        .adoption = &index->adoption,
        .left_out_known = knows_left_out(index),
    };
    memcpy(info->left_out, index->left_out, sizeof info->left_out);
    if (index->verification != NULL)
        info->verification = &index->verification->report;
    if (successor != NULL)
        describe_migration(successor->declaration, successor->state, info);
    else if (index->form.target != NULL)
        describe_migration(index->form.target, KX_INDEX_BUILDING, info);
    else if (index->form.failed != NULL)
        describe_migration(index->form.failed, KX_INDEX_FAILED, info);
    describe_build(built, info);
}

enum kx_status kx_index_find(struct kx_reader *reader, struct kx_slice name,
                             struct kx_index_info *info_out)
{
    const struct index *index = catalog_find(reader->store->catalog, name);
    if (index == NULL)
        return KX_INDEX_ABSENT;
    describe(reader->store->catalog, index, info_out);
    return KX_OK;
}

enum kx_status kx_index_at(struct kx_reader *reader, size_t n,
                           struct kx_index_info *info_out)
{
    const struct catalog *catalog = reader->store->catalog;
    const struct index *index = catalog_at(catalog, n);
    if (index == NULL)
        return KX_END;
    describe(catalog, index, info_out);
    return KX_OK;
}

bool kx_index_leaves_out_bytes(const struct kx_reader *reader, size_t n,
                               struct kx_slice key)
{
    const struct index *index = catalog_at(reader->store->catalog, n);
    if (index == NULL || !declaration_covers(index->declaration, key))
        return false;
    const struct declaration *declaration = index->declaration;
    for (size_t i = 0; i < declaration->field_count; i++)
        if (field_of_value(&declaration->fields[i]))
            return true;
    return false;
}
