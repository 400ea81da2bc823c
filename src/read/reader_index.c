/* From the row of an index to the entry that is shown, for scans and look-ups
 * alike. If the row holds everything requested, its entry is not read. */
#include <talloc.h>

#include "catalog/row_form.h"
#include "read/reader_state.h"

/* Rows of an index whose entries are prefetched at a time. */
enum { PREFETCH_ROWS_MIN = 16, PREFETCH_ROWS_MAX = 128 };

enum kx_status reader_index(struct kx_reader *reader, struct kx_slice name,
                            struct index **index_out, struct kx_fault *fault)
{
    struct index *index;
    if (catalog_get(reader->store->catalog, name, &index, fault) != KX_OK)
        return KX_INDEX_ABSENT;
    *index_out = index;
    if (!index_readable(index))
        return reader_not_ready(index, fault);
    size_t size = name.size < KX_INDEX_NAME_MAX ? name.size : KX_INDEX_NAME_MAX;
    memcpy(reader->reads->index, name.data, size);
    reader->reads->index[size] = '\0';
    return KX_OK;
}

enum kx_status kx_index_fold(struct kx_reader *reader, struct kx_slice name,
                             struct kx_slice parts, struct kx_buffer *out)
{
    const struct index *index = catalog_find(reader->store->catalog, name);
    if (index == NULL)
        return KX_INDEX_ABSENT;
    enum kx_status status =
        extract_lookup(index->declaration, parts, &reader->start);
    if (status != KX_OK)
        return status;
    size_t skip = index->declaration->name_key.size;
    kx_buffer_clear(out);
    kx_add(out, reader->start.data + skip, reader->start.size - skip);
    return out->failed ? KX_NO_MEMORY : KX_OK;
}

enum kx_status kx_index_values(struct kx_reader *reader, struct kx_slice name,
                               struct kx_slice parts, struct kx_buffer *out)
{
    const struct index *index = catalog_find(reader->store->catalog, name);
    if (index == NULL)
        return KX_INDEX_ABSENT;
    kx_buffer_clear(out);
    extract_lookup_values(index->declaration, parts, out);
    return out->failed ? KX_NO_MEMORY : KX_OK;
}

enum kx_status kx_index_changes(struct kx_reader *reader, struct kx_slice name,
                                struct kx_changes *changes_out,
                                struct kx_fault *fault)
{
    struct index *index = NULL;
    struct kx_store *store = reader->store;
    enum kx_status status = reader_index(reader, name, &index, fault);
    if (status != KX_OK)
        return status;
    if (!index->declaration->feed)
        return kx_fail(fault, KX_BAD_INDEX,
                       "the last field of index %.*s is not the versionstamp",
                       (int)name.size, (const char *)name.data);
    *changes_out =
        (struct kx_changes){.groups = index->declaration->field_count - 1,
                            .history = index->history,
                            .stamp = store->catalog->stamp,
                            .stored = atomic_load(&store->stats.stored)};
    return KX_OK;
}

/* Returns the key of the entry that a row represents, in reader->primary, valid
 * until the next call. If memory runs out, reader->primary.failed is set. */
static struct kx_slice primary_key(struct kx_reader *reader,
                                   const struct index *index,
                                   const struct record *row,
                                   struct kx_slice key)
{
    kx_buffer_clear(&reader->primary);
    kx_add_slice(&reader->primary, index->declaration->prefix);
    kx_add_slice(&reader->primary, record_owner(row, key));
    return kx_buffer_slice(&reader->primary);
}

/* ---- Prefetching -------------------------------------------------------- */

/* Prefetches the entries that are not in the cache. */
static void prefetch_unknown(struct kx_reader *reader, struct kx_slice *keys,
                             size_t count)
{
    size_t unknown = 0;
    for (size_t i = 0; i < count; i++)
        if (!record_cache_has(reader->store->cache, keys[i]))
            keys[unknown++] = keys[i];
    if (unknown > 1)
        engine_prefetch(reader->view, keys, unknown);
}

/* Returns for how many rows to prefetch. From another machine it is the most,
 * for one round trip. From a disk, where each row costs a read, it is twice as
 * many as the last time, since the scan may end soon. */
static size_t prefetch_size(struct kx_reader *reader)
{
    size_t rows = reader->prefetch_size * 2;
    if (rows > PREFETCH_ROWS_MAX || engine_remote(reader->store->engine))
        rows = PREFETCH_ROWS_MAX;
    else if (rows < PREFETCH_ROWS_MIN)
        rows = PREFETCH_ROWS_MIN;
    reader->prefetch_size = rows;
    return rows;
}

/* Lists the keys of the entries that this row of the scan points to, and those
 * after it that the engine has read already. The keys lie in reader->ahead. */
static size_t next_primaries(struct kx_reader *reader,
                             const struct index *index, struct kx_slice primary,
                             struct kx_slice *keys, size_t most)
{
    size_t count = 1;
    struct kx_slice key;
    struct kx_slice bytes;
    struct record row;
    struct kx_buffer *ahead = &reader->ahead;
    keys[0].size = primary.size;
    kx_buffer_clear(ahead);
    kx_add_slice(ahead, primary);
    while (count < most &&
           engine_range_peek(reader->rows, count - 1, &key, &bytes)) {
        size_t before = ahead->size;
        kx_add_slice(ahead, index->declaration->prefix);
        if (record_read(bytes, &row) && row_form_of(&row, index->id))
            kx_add_slice(ahead, record_owner(&row, key));
        keys[count++].size = ahead->size - before;
    }
    const uint8_t *at = ahead->data;
    for (size_t i = 0; i < count; at += keys[i++].size)
        keys[i].data = at;
    return ahead->failed ? 0 : count;
}

/* Prefetches the entries of this row and the next ones, each of which would be
 * a round trip or a read. */
static void prefetch_entries(struct kx_reader *reader,
                             const struct index *index, struct kx_slice primary)
{
    struct kx_slice keys[PREFETCH_ROWS_MAX];
    size_t count =
        next_primaries(reader, index, primary, keys, prefetch_size(reader));
    reader->prefetched_rows = count;
    prefetch_unknown(reader, keys, count);
}

/* Has the processor fetch the cached records of this row and the next ones: 53
 * % more lists of 100 entries a second among two million scattered entries.
 * With a small record cache, which fits into the caches of the processor, a
 * list would take a sixth longer. */
static void fetch_for_cpu(struct kx_reader *reader, const struct index *index,
                          struct kx_slice primary)
{
    struct kx_slice keys[RECORD_PREFETCH_MAX];
    reader->cpu_fetched_rows = RECORD_PREFETCH_MAX - 1;
    if (!record_cache_is_large(reader->store->cache))
        return;
    size_t count =
        next_primaries(reader, index, primary, keys, RECORD_PREFETCH_MAX);
    reader->cpu_fetched_rows = count > 0 ? count - 1 : 0;
    if (count > 1)
        record_cache_prefetch(reader->store->cache, keys, count);
}

void kx_read_prefetch(struct kx_reader *reader, const struct kx_slice *keys,
                      size_t count)
{
    if (count < 2 || !engine_prefetches(reader->view))
        return;
    struct kx_slice *copy = talloc_memdup(NULL, keys, count * sizeof keys[0]);
    if (copy != NULL)
        prefetch_unknown(reader, copy, count);
    talloc_free(copy);
}

/* ---- Entries ------------------------------------------------------------ */

/* The record of an entry that a row points to. It lies in reader->record or the
 * look-ups' own buffer until the next call. */
static enum kx_status find_primary(struct kx_reader *reader,
                                   const struct index *index,
                                   struct kx_slice primary,
                                   struct kx_slice *bytes_out)
{
    struct record_cache *cache = reader->store->cache;
    reader->resolved++;
    if (reader->prefetched_rows > 0)
        reader->prefetched_rows--;
    if (reader->cpu_fetched_rows > 0)
        reader->cpu_fetched_rows--;
    else if (reader->scanning)
        fetch_for_cpu(reader, index, primary);
    if (record_cache_get(cache, primary, &reader->record)) {
        *bytes_out = kx_buffer_slice(&reader->record);
        return KX_OK;
    }
    if (before_image_find(&reader->store->view.before_image, primary,
                          bytes_out))
        return bytes_out->size == 0 ? KX_ABSENT : KX_OK;
    if (reader->scanning && reader->prefetched_rows == 0 &&
        engine_prefetches(reader->view))
        prefetch_entries(reader, index, primary);
    enum kx_status status =
        engine_range_find(reader->primaries, primary, bytes_out);
    if (status == KX_OK)
        record_cache_fill(cache, primary, *bytes_out);
    return status;
}

void reader_asks(struct kx_reader *reader, const struct index *index,
                 const struct kx_slice *fields, size_t count)
{
    reader->fields_stored = index != NULL && count > 0;
    for (size_t i = 0; i < count && reader->fields_stored; i++)
        reader->fields_stored =
            declaration_stores(index->declaration, fields[i]);
}

/* Returns whether the row holds everything that the caller needs of the entry.
 */
static bool holds_entry(const struct kx_reader *reader,
                        const struct index *index, const struct record *row)
{
    if (reader->count_only)
        return true;
    if (row->encoding == KX_POINTER || row->own)
        return false;
    return index->declaration->store != STORE_FIELDS || reader->fields_stored;
}

enum kx_status reader_resolve(struct kx_reader *reader,
                              const struct index *index, struct kx_slice key,
                              struct record *row, struct kx_entry *entry_out)
{
    struct kx_store *store = reader->store;
    if (!row_form_of(row, index->id) || record_expired(row, reader->now_ms))
        return KX_ABSENT;
    struct kx_slice primary = primary_key(reader, index, row, key);
    row_form_pick(index, row);
    if (declaration_aggregates(index->declaration))
        return reader_totals(reader, key, row, entry_out);
    if (reader->primary.failed)
        return KX_NO_MEMORY;
    if (row->deleted) {
        record_show(row, primary, entry_out);
        return KX_OK;
    }
    if (holds_entry(reader, index, row)) {
        record_show(row, primary, entry_out);
        return KX_OK;
    }
    struct kx_slice bytes;
    struct record record;
    reader_saw(reader, view_pending_key(&store->view, primary));
    enum kx_status status = find_primary(reader, index, primary, &bytes);
    if (status != KX_OK)
        return status;
    reader_count(reader, bytes.size);
    if (!record_read(bytes, &record))
        return KX_FAILED;
    if (!catalog_shows(store->catalog, &record, reader->now_ms))
        return KX_ABSENT;
    record_show(&record, primary, entry_out);
    return KX_OK;
}

enum kx_status kx_index_get(struct kx_reader *reader,
                            const struct kx_lookup *lookup,
                            struct kx_entry *entry_out, struct kx_fault *fault)
{
    struct kx_slice name = lookup->index;
    struct index *index = NULL;
    enum kx_status status = reader_index(reader, name, &index, fault);
    if (status != KX_OK)
        return status;
    if (declaration_ends_in_owner(index->declaration))
        return kx_fail(fault, KX_INDEX_NOT_UNIQUE,
                       "index %.*s may hold several entries for one value",
                       (int)name.size, (const char *)name.data);
    status = extract_lookup(index->declaration, lookup->value, &reader->start);
    if (status != KX_OK)
        return status;
    index_usage_read(&index->usage, reader->now_ms);
    struct record row;
    struct kx_slice key = kx_buffer_slice(&reader->start);
    reader->count_only = false;
    reader_asks(reader, index, lookup->fields, lookup->field_count);
    status = reader_record(reader, key, &reader->row, &row);
    if (status == KX_OK)
        status = reader_resolve(reader, index, key, &row, entry_out);
    return status;
}
