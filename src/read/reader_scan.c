/* Scans inside a view: of entries, and of an index with the entries that it
 * points to. Rows that clients must not see (expired ones, those of an index
 * that is not readable or was dropped) are skipped. */
#include <talloc.h>

#include "kindex/ranges.h"
#include "read/reader_state.h"
#include "schema/extract.h"

/* Hidden rows that a yielding scan skips at a time: less than a millisecond. */
enum { PASSED_MAX = 1000 };

/* Bytes of rows, shown or not, that a yielding scan reads before it yields:
 * some milliseconds. */
enum { SCAN_BYTES_MAX = 4 << 20 };

/* After this many skipped rows a new descent of the tree is cheaper than
 * skipping more. */
enum { PASSED_FEW = 64 };

/* Sets what a scan of this range, or of several ranges like it, begins with. */
static void prepare(struct kx_reader *reader, const struct kx_range *range)
{
    kx_buffer_clear(&reader->position);
    reader->ended = false;
    reader->count_only = range->count_only;
    reader->yields = range->yields;
    reader->yielded_at = reader->looked;
    reader->prefetched_rows = 0;
    reader->cpu_fetched_rows = 0;
    reader->prefetch_size = 0;
    reader_asks(reader, reader->index, range->fields, range->field_count);
}

/* Begins to read reader->rows within the bounds. KX_OK, KX_NO_MEMORY,
 * KX_FAILED. */
static enum kx_status begin_rows(struct kx_reader *reader,
                                 const struct kx_range *range)
{
    if (reader->start.failed || reader->end.failed)
        return KX_NO_MEMORY;
    prepare(reader, range);
    enum kx_status status = engine_range_begin_either(
        reader->rows, kx_buffer_slice(&reader->start),
        kx_buffer_slice(&reader->end), range->reverse);
    reader->scanning = status == KX_OK;
    return status;
}

/* From bounds relative to a name (empty: none) to bounds in the table. FF sorts
 * after every part that can follow the name. */
void reader_bounds(struct kx_reader *reader, struct kx_slice name,
                   const struct kx_range *range)
{
    kx_buffer_clear(&reader->start);
    kx_add_slice(&reader->start, name);
    kx_add_slice(&reader->start, range->start);
    kx_buffer_clear(&reader->end);
    kx_add_slice(&reader->end, name);
    if (range->end.size != 0)
        kx_add_slice(&reader->end, range->end);
    else if (name.size != 0)
        kx_add_byte(&reader->end, 0xff);
}

static size_t leading_parts(struct kx_slice key, size_t count)
{
    size_t size = 0;
    while (count-- > 0)
        size += kx_part_size(kx_slice(key.data + size, key.size - size));
    return size;
}

/* The index may have become unique, or ceased to be unique, since it returned
 * the position. Then the entry of that position, which must be skipped, has
 * another position now. */
void reader_resume(struct kx_reader *reader, struct kx_slice name,
                   struct kx_slice after)
{
    const struct declaration *declaration =
        reader->index == NULL ? NULL : reader->index->declaration;
    size_t fields = after.size;
    if (after.size == 0)
        return;
    if (declaration != NULL)
        fields = leading_parts(after, declaration->field_count);
    struct kx_buffer *bound = reader->reverse ? &reader->end : &reader->start;
    kx_buffer_clear(bound);
    kx_add_slice(bound, name);
    bool owned = declaration != NULL && declaration_ends_in_owner(declaration);
    if (reader->reverse && declaration != NULL && !owned)
        after.size = fields;
    kx_add_slice(bound, after);
    if (!reader->reverse)
        kx_add_byte(bound, owned && after.size == fields ? 0xff : 0x00);
}

/* A range that is wider than the index's entries is scanned without them. */
static enum kx_status check_entries(struct kx_reader *reader,
                                    const struct kx_range *range,
                                    struct kx_fault *fault)
{
    struct index *owner = catalog_owner(reader->store->catalog, range->start);
    if (owner != NULL && !catalog_ends_under(owner, range->end))
        owner = NULL;
    if (owner != NULL && !index_shown(owner))
        return reader_not_ready(owner, fault);
    if (owner != NULL)
        index_usage_read(&owner->usage, reader->now_ms);
    return KX_OK;
}

enum kx_status kx_scan(struct kx_reader *reader, const struct kx_range *range,
                       struct kx_fault *fault)
{
    enum kx_status status = check_entries(reader, range, fault);
    if (status != KX_OK)
        return status;
    kx_scan_end(reader);
    reader->index = NULL;
    reader_bounds(reader, kx_slice(NULL, 0), range);
    reader->reverse = range->reverse;
    reader_resume(reader, kx_slice(NULL, 0), range->after);
    return begin_rows(reader, range);
}

enum kx_status kx_scan_index(struct kx_reader *reader, struct kx_slice name,
                             const struct kx_range *range,
                             struct kx_fault *fault)
{
    struct index *index = NULL;
    enum kx_status status = reader_index(reader, name, &index, fault);
    if (status != KX_OK)
        return status;
    kx_scan_end(reader);
    reader->index = index;
    index_usage_read(&index->usage, reader->now_ms);
    reader_bounds(reader, index->declaration->name_key, range);
    reader->reverse = range->reverse;
    reader_resume(reader, index->declaration->name_key, range->after);
    return begin_rows(reader, range);
}

enum kx_status reader_scan_rule(struct kx_reader *reader, struct index *rule,
                                const struct kx_range *range)
{
    kx_scan_end(reader);
    reader->index = rule;
    reader->reverse = false;
    reader_bounds(reader, rule->declaration->name_key, range);
    return begin_rows(reader, range);
}

/* A row of a rule has totals. */
static enum kx_status show_totals(const struct kx_reader *reader,
                                  struct kx_slice key,
                                  const struct record *record,
                                  struct kx_entry *entry_out)
{
    if (record->index != reader->index->id)
        return KX_ABSENT;
    record_show(record, key, entry_out);
    return KX_OK;
}

/* The entry of a row of the scan. KX_ABSENT: it is hidden. In an index scan a
 * row with another id belongs to a dropped index of the same name. */
static enum kx_status show_row(struct kx_reader *reader, struct kx_slice key,
                               struct kx_slice bytes,
                               struct kx_entry *entry_out)
{
    struct record record;
    if (!record_read(bytes, &record))
        return KX_FAILED;
    if (reader->index != NULL && reader->index->declaration->rule != NULL)
        return show_totals(reader, key, &record, entry_out);
    if (reader->index != NULL)
        return reader_resolve(reader, reader->index, key, &record, entry_out);
    if (!catalog_show(reader->store->catalog, &record, reader->now_ms))
        return KX_ABSENT;
    if (reader_shows_totals(reader, &record))
        return reader_totals(reader, key, &record, entry_out);
    record_show(&record, key, entry_out);
    return KX_OK;
}

/* Returns the index that owns the scan's row if all rows of that index are
 * hidden; otherwise NULL. */
static const struct index *hidden_index(const struct kx_reader *reader)
{
    const struct index *index = catalog_sole_owner(
        reader->store->catalog, kx_buffer_slice(&reader->position));
    bool hidden = index != NULL &&
                  (index->state == KX_INDEX_DROPPING || !index_shown(index));
    return hidden && reader->index == NULL ? index : NULL;
}

/* Skips all rows of an index that is being built or was dropped: there may be
 * millions, and the writer waits for the view. */
static enum kx_status pass_over(struct kx_reader *reader)
{
    const struct index *index = hidden_index(reader);
    struct kx_buffer *bound = &reader->bound;
    struct kx_slice start = kx_buffer_slice(&reader->start);
    struct kx_slice end = kx_buffer_slice(&reader->end);
    if (index == NULL)
        return KX_OK;
    kx_buffer_clear(bound);
    kx_add_slice(bound, index->declaration->name_key);
    if (!reader->reverse)
        kx_add_byte(bound, 0xff);
    if (bound->failed)
        return KX_NO_MEMORY;
    if (reader->reverse)
        end = kx_buffer_slice(bound);
    else
        start = kx_buffer_slice(bound);
    if (end.size == 0 || kx_compare(start, end) < 0)
        return engine_range_begin_either(reader->rows, start, end,
                                         reader->reverse);
    reader->ended = true;
    return KX_END;
}

/* True if a scan that yields should return KX_AGAIN, because it has passed over
 * enough rows or read enough bytes. */
static bool gives_up(const struct kx_reader *reader, int passed)
{
    return reader->yields &&
           (passed >= PASSED_MAX ||
            reader->looked - reader->yielded_at >= SCAN_BYTES_MAX);
}

enum kx_status kx_scan_next(struct kx_reader *reader,
                            struct kx_entry *entry_out)
{
    for (int passed = 0; !gives_up(reader, passed); passed++) {
        struct kx_slice key;
        struct kx_slice bytes;
        enum kx_status status = engine_range_next(reader->rows, &key, &bytes);
        reader->ended = status == KX_END;
        if (status != KX_OK)
            return status;
        reader_count(reader, bytes.size);
        status = show_row(reader, key, bytes, entry_out);
        kx_buffer_clear(&reader->position);
        kx_add_slice(&reader->position, key);
        if (reader->position.failed)
            return KX_NO_MEMORY;
        if (status != KX_ABSENT)
            return status;
        if (passed % PASSED_FEW == PASSED_FEW - 1)
            status = pass_over(reader);
        if (status != KX_ABSENT && status != KX_OK)
            return status;
    }
    reader->yielded_at = reader->looked;
    return KX_AGAIN;
}

enum kx_status reader_scan_jump(struct kx_reader *reader, struct kx_slice to)
{
    struct kx_buffer *bound = &reader->bound;
    struct kx_slice end = kx_buffer_slice(&reader->end);
    kx_buffer_clear(bound);
    if (reader->index != NULL)
        kx_add_slice(bound, reader->index->declaration->name_key);
    kx_add_slice(bound, to);
    if (bound->failed)
        return KX_NO_MEMORY;
    reader->ended =
        end.size != 0 && kx_compare(kx_buffer_slice(bound), end) >= 0;
    if (reader->ended)
        return KX_END;
    return engine_range_begin_either(reader->rows, kx_buffer_slice(bound), end,
                                     false);
}

struct kx_slice kx_scan_position(struct kx_reader *reader)
{
    size_t skip =
        reader->index == NULL ? 0 : reader->index->declaration->name_key.size;
    if (reader->position.size < skip)
        return kx_slice(NULL, 0);
    return kx_slice(reader->position.data + skip, reader->position.size - skip);
}

/* The row's key ends with the owner. */
int64_t kx_scan_due(const struct kx_reader *reader)
{
    const struct index *queue = reader->index;
    struct extract_due due;
    if (queue == NULL || !queue->declaration->queue.declared)
        return 0;
    size_t owner = reader->primary.size - queue->declaration->prefix.size;
    struct kx_slice row = kx_buffer_slice(&reader->position);
    const struct record at = {.owner_at = (uint16_t)(row.size - owner)};
    return extract_due(row, &at, &due) ? due.ms : 0;
}

/* ---- Several ranges ----------------------------------------------------- */

static inline const struct kx_list_range *
ranges_at(const struct reader_ranges *several, size_t number)
{
    return &several->ranges->list[number];
}

/* Returns the key without its first bytes. */
static inline struct kx_slice ranges_cut(struct kx_slice key, size_t size)
{
    if (size > key.size)
        size = key.size;
    return kx_slice(key.data + size, key.size - size);
}

/* True if a position, or the key of an entry, is within the range. */
static inline bool ranges_within(const struct kx_list_range *range,
                                 struct kx_slice key)
{
    struct kx_slice end = range->range.end;
    return kx_compare(key, range->range.start) >= 0 &&
           (end.size == 0 || kx_compare(key, end) < 0);
}

/* ---- Entries with several places ---------------------------------------- */

/* Entries that several ranges find, or one range several times. Nothing is
 * remembered of what was shown: an entry, or its keys in an index, tell where
 * else the ranges find it. If one of these places is before the present one in
 * the order of the list, it was shown there. */

static bool may_share(const struct kx_list_range *a,
                      const struct kx_list_range *b)
{
    struct kx_slice a_end = a->range.end;
    struct kx_slice b_end = b->range.end;
    return !kx_equal(a->index, b->index) ||
           ((a_end.size == 0 || kx_compare(b->range.start, a_end) < 0) &&
            (b_end.size == 0 || kx_compare(a->range.start, b_end) < 0));
}

/* Returns whether an entry may have several places in the list. Inside a view.
 */
static bool may_repeat(const struct kx_reader *reader,
                       const struct kx_ranges *ranges)
{
    const struct catalog *catalog = reader->store->catalog;
    for (size_t i = 0; i < ranges->count; i++) {
        const struct kx_list_range *range = &ranges->list[i];
        const struct index *index = NULL;
        if (range->index.size > 0)
            index = catalog_find(catalog, range->index);
        if (index != NULL && index->declaration->has_each)
            return true;
        for (size_t j = 0; j < i; j++)
            if (may_share(&ranges->list[j], range))
                return true;
    }
    return false;
}

/* True if the place `key` in range `number` is before the last row, which is
 * `here`. */
static bool is_before(const struct reader_ranges *several, size_t number,
                      struct kx_slice key, struct kx_slice here)
{
    const struct kx_ranges *ranges = several->ranges;
    const struct kx_list_range *other = ranges_at(several, number);
    const struct kx_list_range *own = ranges_at(several, several->at);
    if (!ranges->merge && number != several->at)
        return number < several->at;
    if (ranges->merge) {
        key = ranges_cut(key, other->given);
        here = ranges_cut(here, own->given);
    }
    int order = kx_compare(key, here);
    if (own->range.reverse)
        order = -order;
    return order < 0 || (order == 0 && number < several->at);
}

/* The keys that an entry has in an index. KX_OK, also without any;
 * KX_NO_MEMORY, KX_FAILED. */
static enum kx_status find_places(struct kx_reader *reader,
                                  const struct index *index,
                                  struct kx_slice key)
{
    struct reader_ranges *several = reader->ranges;
    struct record record;
    several->extract.count = 0;
    if (!declaration_covers(index->declaration, key))
        return KX_OK;
    enum kx_status status =
        reader_record(reader, key, &several->record, &record);
    if (status == KX_OK && record.index == 0)
        status =
            extract_keys(&several->extract, index->declaration, key, &record);
    return status == KX_ABSENT || status == KX_NOT_INDEXABLE ? KX_OK : status;
}

/* Checks whether the range finds the entry before the last row, by an index in
 * which the entry may have any number of keys. *known is the index whose keys
 * of the entry were extracted last. KX_OK if so, KX_ABSENT if not, or an error.
 */
static enum kx_status find_by_keys(struct kx_reader *reader, size_t number,
                                   struct kx_slice entry,
                                   const struct index *index,
                                   const struct index **known)
{
    struct reader_ranges *several = reader->ranges;
    struct kx_slice here = kx_scan_position(reader);
    if (index != *known) {
        enum kx_status status = find_places(reader, index, entry);
        if (status != KX_OK)
            return status;
        *known = index;
    }
    for (size_t i = 0; i < several->extract.count; i++) {
        struct kx_slice key = ranges_cut(extract_key(&several->extract, i),
                                         index->declaration->name_key.size);
        if (ranges_within(ranges_at(several, number), key) &&
            is_before(several, number, key, here))
            return KX_OK;
    }
    return KX_ABSENT;
}

/* As find_by_keys, for any index or none. */
static enum kx_status find_before(struct kx_reader *reader, size_t number,
                                  struct kx_slice entry,
                                  const struct index **known)
{
    const struct reader_ranges *several = reader->ranges;
    const struct kx_list_range *range = ranges_at(several, number);
    struct kx_slice here = kx_scan_position(reader);
    struct kx_slice place = entry;
    if (range->index.size > 0) {
        const struct index *index =
            catalog_find(reader->store->catalog, range->index);
        if (index == NULL)
            return KX_ABSENT;
        if (index != reader->index || index->declaration->has_each)
            return find_by_keys(reader, number, entry, index, known);
        place = here;
    }
    if (ranges_within(range, place) && is_before(several, number, place, here))
        return KX_OK;
    return KX_ABSENT;
}

/* Finds out whether the entry at the last row was shown before. KX_OK: it was;
 * KX_ABSENT: it was not; KX_NO_MEMORY, KX_FAILED. */
static enum kx_status is_repeated(struct kx_reader *reader,
                                  struct kx_slice entry)
{
    struct reader_ranges *several = reader->ranges;
    const struct index *known = NULL;
    enum kx_status status = KX_ABSENT;
    if (!several->overlap)
        return KX_ABSENT;
    size_t count = several->at + 1;
    if (several->ranges->merge)
        count = several->ranges->count;
    for (size_t i = 0; i < count && status == KX_ABSENT; i++)
        status = find_before(reader, i, entry, &known);
    return status;
}

/* ---- A merge of ranges -------------------------------------------------- */

/* Ranges that are merged: all are open, and their next rows are kept in order.
 */

static int compare(const struct reader_ranges *several,
                   const struct merge_source *a, const struct merge_source *b)
{
    size_t skip = several->skip;
    int order = kx_compare(
        ranges_cut(a->key, skip + ranges_at(several, a->number)->given),
        ranges_cut(b->key, skip + ranges_at(several, b->number)->given));
    if (ranges_at(several, 0)->range.reverse)
        order = -order;
    return order != 0 ? order : (a->number < b->number ? -1 : 1);
}

/* Moves the first source, which has another row now, to its place in the order.
 */
static void reorder(struct reader_ranges *several)
{
    struct merge_source **order = several->order;
    struct merge_source *moved = order[0];
    size_t i = 1;
    for (; i < several->left && compare(several, order[i], moved) < 0; i++)
        order[i - 1] = order[i];
    order[i - 1] = moved;
}

/* Reads the next row of the first source, which is removed when it has none. */
static enum kx_status advance(struct reader_ranges *several)
{
    struct merge_source *source = several->order[0];
    enum kx_status status =
        engine_range_next(source->rows, &source->key, &source->bytes);
    if (status == KX_OK) {
        reorder(several);
    } else if (status == KX_END) {
        source->ended = true;
        several->left--;
        memmove(several->order, several->order + 1,
                several->left * sizeof(struct merge_source *));
        status = KX_OK;
    }
    return status;
}

/* Narrows the bounds in reader->start and end to what comes after the position
 * of the list: in ranges after its own, also at the same place. */
static void narrow(struct kx_reader *reader, size_t number,
                   struct kx_slice name)
{
    struct reader_ranges *several = reader->ranges;
    const struct kx_list_range *range = ranges_at(several, number);
    struct kx_buffer *place = &several->record;
    kx_buffer_clear(place);
    kx_add(place, range->range.start.data, range->given);
    kx_add_slice(place, ranges_cut(several->after,
                                   ranges_at(several, several->at)->given));
    struct kx_slice after = kx_buffer_slice(place);
    reader->start.failed |= place->failed;
    if (!range->range.reverse && kx_compare(after, range->range.start) < 0)
        return;
    if (range->range.reverse && range->range.end.size > 0 &&
        kx_compare(after, range->range.end) >= 0)
        return;
    if (number <= several->at) {
        reader_resume(reader, name, after);
        return;
    }
    struct kx_buffer *bound = reader->reverse ? &reader->end : &reader->start;
    kx_buffer_clear(bound);
    kx_add_slice(bound, name);
    kx_add_slice(bound, after);
    if (reader->reverse)
        kx_add_byte(bound, 0x00);
}

/* Reads the first row of a source. */
static enum kx_status begin_source(struct kx_reader *reader,
                                   struct merge_source *source)
{
    struct kx_slice start = kx_buffer_slice(&source->start);
    struct kx_slice end = kx_buffer_slice(&source->end);
    struct reader_ranges *several = reader->ranges;
    source->ended = end.size > 0 && kx_compare(start, end) >= 0;
    source->begun = source->ended;
    if (source->ended)
        return KX_OK;
    enum kx_status status =
        engine_range_begin_either(source->rows, start, end, reader->reverse);
    if (status != KX_OK)
        return status;
    memmove(several->order + 1, several->order,
            several->left * sizeof(struct merge_source *));
    several->order[0] = source;
    several->left++;
    status = advance(several);
    source->begun = status == KX_OK;
    return status;
}

static enum kx_status open_source(struct kx_reader *reader, size_t number,
                                  struct kx_slice name)
{
    struct reader_ranges *several = reader->ranges;
    struct merge_source *source = &several->sources[number];
    source->number = number;
    reader_bounds(reader, name, &ranges_at(several, number)->range);
    if (several->after.size > 0)
        narrow(reader, number, name);
    kx_buffer_init(&source->start, several);
    kx_buffer_init(&source->end, several);
    kx_add_slice(&source->start, kx_buffer_slice(&reader->start));
    kx_add_slice(&source->end, kx_buffer_slice(&reader->end));
    if (reader->start.failed || reader->end.failed || source->start.failed ||
        source->end.failed)
        return KX_NO_MEMORY;
    enum kx_status status = engine_range_create(several, reader->view,
                                                TABLE_ENTRIES, &source->rows);
    return status == KX_OK ? begin_source(reader, source) : status;
}

/* Also for ranges of entries: one within an index that is not ready. */
static enum kx_status find_index(struct kx_reader *reader,
                                 struct kx_slice *name, struct kx_fault *fault)
{
    struct reader_ranges *several = reader->ranges;
    const struct kx_list_range *first = ranges_at(several, 0);
    enum kx_status status = KX_OK;
    *name = kx_slice(NULL, 0);
    if (first->index.size > 0) {
        status = reader_index(reader, first->index, &reader->index, fault);
        if (status != KX_OK)
            return status;
        index_usage_read(&reader->index->usage, reader->now_ms);
        *name = reader->index->declaration->name_key;
        several->skip = name->size;
    }
    for (size_t i = 0; first->index.size == 0 && i < several->ranges->count;
         i++) {
        several->ranges->failed = i;
        status = check_entries(reader, &ranges_at(several, i)->range, fault);
        if (status != KX_OK)
            return status;
    }
    return status;
}

/* Begins a merge. Statuses: KX_OK, KX_INDEX_NOT_READY, KX_NO_MEMORY, KX_FAILED.
 */
static enum kx_status begin_merge(struct kx_reader *reader,
                                  struct kx_fault *fault)
{
    struct reader_ranges *several = reader->ranges;
    size_t count = several->ranges->count;
    const struct kx_range *first = &ranges_at(several, 0)->range;
    struct kx_slice name;
    several->sources = talloc_zero_array(several, struct merge_source, count);
    several->order = talloc_array(several, struct merge_source *, count);
    if (several->sources == NULL || several->order == NULL)
        return KX_NO_MEMORY;
    enum kx_status status = find_index(reader, &name, fault);
    if (status != KX_OK)
        return status;
    reader->reverse = first->reverse;
    prepare(reader, first);
    reader->scanning = true;
    for (size_t i = 0; status == KX_OK && i < count; i++)
        status = open_source(reader, i, name);
    return status;
}

/* Takes the first row. KX_ABSENT: the row is hidden. */
static enum kx_status take_row(struct kx_reader *reader,
                               struct kx_entry *entry_out)
{
    struct reader_ranges *several = reader->ranges;
    struct merge_source *source = several->order[0];
    struct engine_range *own = reader->rows;
    several->taken = true;
    several->at = source->number;
    reader_count(reader, source->bytes.size);
    reader->rows = source->rows; /* for its prefetch */
    enum kx_status status =
        show_row(reader, source->key, source->bytes, entry_out);
    reader->rows = own;
    kx_buffer_clear(&reader->position);
    kx_add_slice(&reader->position, source->key);
    if (reader->position.failed)
        return KX_NO_MEMORY;
    if (status != KX_OK)
        return status;
    status = is_repeated(reader, entry_out->key);
    if (status == KX_OK)
        return KX_ABSENT;
    return status == KX_ABSENT ? KX_OK : status;
}

static enum kx_status next_merged(struct kx_reader *reader,
                                  struct kx_entry *entry_out)
{
    struct reader_ranges *several = reader->ranges;
    enum kx_status status = KX_OK;
    for (int passed = 0; !gives_up(reader, passed); passed++) {
        if (several->taken)
            status = advance(several);
        several->taken = false;
        if (status != KX_OK)
            return status;
        if (several->left == 0)
            return KX_END;
        status = take_row(reader, entry_out);
        if (status != KX_ABSENT)
            return status;
        status = KX_OK;
    }
    reader->yielded_at = reader->looked;
    return KX_AGAIN;
}

/* ---- Several ranges as one list ----------------------------------------- */

/* Repeated entries that are skipped at a time. */
enum { REPEATED_MAX = 1000 };

bool kx_ranges_find(const struct kx_ranges *ranges, struct kx_slice position)
{
    return position.size > 1 && position.data[0] < ranges->count &&
           ranges_within(&ranges->list[position.data[0]],
                         ranges_cut(position, 1));
}

static enum kx_status begin_one(struct kx_reader *reader,
                                struct kx_fault *fault)
{
    struct reader_ranges *several = reader->ranges;
    const struct kx_list_range *next = ranges_at(several, several->at);
    const struct kx_range *first = &several->ranges->list[0].range;
    struct kx_range range = next->range;
    range.after = several->after;
    range.yields = first->yields;
    range.fields = first->fields;
    range.field_count = first->field_count;
    range.count_only = first->count_only;
    several->after = kx_slice(NULL, 0);
    several->ranges->failed = several->at;
    reader->ranges = NULL; /* the scan before is ended as one */
    enum kx_status status =
        next->index.size > 0 ? kx_scan_index(reader, next->index, &range, fault)
                             : kx_scan(reader, &range, fault);
    reader->ranges = several;
    return status;
}

static enum kx_status next_in_turn(struct kx_reader *reader,
                                   struct kx_entry *entry_out,
                                   struct kx_fault *fault)
{
    struct reader_ranges *several = reader->ranges;
    enum kx_status status;
    for (int repeated = 0; repeated < REPEATED_MAX;) {
        status = kx_scan_next(reader, entry_out);
        if (status == KX_OK) {
            status = is_repeated(reader, entry_out->key);
            if (status != KX_OK)
                return status == KX_ABSENT ? KX_OK : status;
            repeated++;
        } else if (status == KX_END &&
                   several->at + 1 < several->ranges->count) {
            several->at++;
            status = begin_one(reader, fault);
            if (status != KX_OK)
                reader_ranges_end(reader);
        }
        if (status != KX_OK)
            return status;
    }
    return KX_AGAIN;
}

enum kx_status kx_ranges_begin(struct kx_reader *reader,
                               struct kx_ranges *ranges, struct kx_fault *fault)
{
    kx_scan_end(reader);
    ranges->failed = 0;
    struct reader_ranges *several = talloc_zero(reader, struct reader_ranges);
    if (several == NULL)
        return KX_NO_MEMORY;
    several->ranges = ranges;
    several->overlap = may_repeat(reader, ranges);
    kx_buffer_init(&several->record, several);
    extract_init(&several->extract, several);
    if (ranges->after.size > 0) {
        several->at = ranges->after.data[0];
        several->after = ranges_cut(ranges->after, 1);
    }
    reader->index = NULL;
    reader->ranges = several;
    enum kx_status status =
        ranges->merge ? begin_merge(reader, fault) : begin_one(reader, fault);
    if (status != KX_OK)
        reader_ranges_end(reader);
    return status;
}

enum kx_status kx_ranges_next(struct kx_reader *reader,
                              struct kx_entry *entry_out,
                              struct kx_fault *fault)
{
    if (reader->ranges->ranges->merge)
        return next_merged(reader, entry_out);
    return next_in_turn(reader, entry_out, fault);
}

void kx_ranges_position(struct kx_reader *reader, struct kx_buffer *out)
{
    kx_add_byte(out, (uint8_t)reader->ranges->at);
    kx_add_slice(out, kx_scan_position(reader));
}
