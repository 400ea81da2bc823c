/* The groups of entries that have the same value in a unique index. Only
 * conflict rows are scanned, which lie together in the order of their values;
 * the owner of the index entry itself is looked up once for each group.
 *
 * The first entry of a group is given out when a second one is found: while an
 * expired entry is not removed yet, a conflict row may be alone. */
#include "catalog/row_form.h"
#include "plan/conflict_rows.h"
#include "read/reader_state.h"
#include "schema/extract.h"

/* A scan after a position continues the group of that position. */
static void resume_group(struct kx_reader *reader, const struct index *index,
                         struct kx_slice after)
{
    size_t size = 0;
    for (size_t i = 0; i < index->declaration->field_count; i++)
        size += kx_part_size(kx_slice(after.data + size, after.size - size));
    kx_buffer_clear(&reader->row);
    kx_add(&reader->row, after.data, size);
    reader->group = (struct conflict_group){
        .index = index, .found = size != 0, .open = size != 0};
}

enum kx_status kx_conflicts(struct kx_reader *reader, struct kx_slice name,
                            struct kx_slice after, struct kx_fault *fault)
{
    struct index *index;
    if (catalog_get(reader->store->catalog, name, &index, fault) != KX_OK)
        return KX_INDEX_ABSENT;
    struct index *successor = catalog_successor(reader->store->catalog, index);
    if (successor != NULL && successor->declaration->unique)
        index = successor;
    kx_scan_end(reader);
    struct kx_slice name_key = index->declaration->name_key;
    kx_buffer_clear(&reader->start);
    kx_add_slice(&reader->start, name_key);
    kx_add_byte(&reader->start, CONFLICT_ROWS_MARK);
    kx_add_slice(&reader->start, after);
    if (after.size != 0)
        kx_add_byte(&reader->start, 0);
    kx_buffer_clear(&reader->end);
    kx_add_slice(&reader->end, name_key);
    kx_add_byte(&reader->end, 0xff);
    resume_group(reader, index, after);
    kx_buffer_clear(&reader->position);
    reader->reverse = false;
    reader->ended = false;
    if (reader->start.failed || reader->end.failed)
        return KX_NO_MEMORY;
    enum kx_status status =
        engine_range_begin(reader->rows, kx_buffer_slice(&reader->start),
                           kx_buffer_slice(&reader->end));
    reader->scanning = status == KX_OK;
    return status;
}

/* Where the value lies in the key of a conflict row: in front of the owner. */
static struct kx_slice value_of(const struct kx_reader *reader,
                                struct kx_slice key,
                                const struct record *record)
{
    size_t skip = reader->group.index->declaration->name_key.size + 1;
    if (record->owner_at < skip || record->owner_at > key.size)
        return kx_slice(NULL, 0);
    return kx_slice(key.data + skip, record->owner_at - skip);
}

static void set_primary(struct kx_reader *reader, struct kx_slice owner)
{
    kx_buffer_clear(&reader->primary);
    kx_add_slice(&reader->primary, reader->group.index->declaration->prefix);
    kx_add_slice(&reader->primary, owner);
    reader->group.found = true;
}

/* A new group begins with the owner of the index entry, unless that entry has
 * expired. */
static enum kx_status begin_group(struct kx_reader *reader,
                                  struct kx_slice value)
{
    const struct index *index = reader->group.index;
    struct kx_slice bytes;
    struct record record;
    reader->group.open = false;
    reader->group.found = false;
    kx_buffer_clear(&reader->row);
    kx_add_slice(&reader->row, value);
    kx_buffer_clear(&reader->record);
    kx_add_slice(&reader->record, index->declaration->name_key);
    kx_add_slice(&reader->record, value);
    if (reader->row.failed || reader->record.failed)
        return KX_NO_MEMORY;
    struct kx_slice key = kx_buffer_slice(&reader->record);
    reader_saw(reader, view_pending_key(&reader->store->view, key));
    enum kx_status status = reader_find(reader, key, &bytes);
    if (status != KX_OK)
        return status == KX_ABSENT ? KX_OK : status;
    if (!record_read(bytes, &record))
        return KX_FAILED;
    if (row_form_of(&record, index->id) &&
        !record_expired(&record, reader->now_ms))
        set_primary(reader, record_owner(&record, key));
    return reader->primary.failed ? KX_NO_MEMORY : KX_OK;
}

/* Takes one conflict row. KX_ABSENT: it is hidden, or is the first known entry
 * of its group. Its key is the scan's position. */
static enum kx_status take_row(struct kx_reader *reader, struct kx_slice bytes)
{
    struct record record;
    struct conflict_group *group = &reader->group;
    struct kx_slice key = kx_buffer_slice(&reader->position);
    enum kx_status status = KX_OK;
    if (!record_read(bytes, &record))
        return KX_FAILED;
    if (record.index != group->index->id ||
        record_expired(&record, reader->now_ms))
        return KX_ABSENT;
    struct kx_slice value = value_of(reader, key, &record);
    if (!kx_equal(value, kx_buffer_slice(&reader->row)))
        status = begin_group(reader, value);
    if (status != KX_OK)
        return status;
    group->owner = record_owner(&record, key);
    if (group->found)
        return KX_OK;
    set_primary(reader, group->owner);
    return reader->primary.failed ? KX_NO_MEMORY : KX_ABSENT;
}

/* The first of a group, or the one that the scan is at. */
static enum kx_status give(struct kx_reader *reader,
                           struct kx_conflict *conflict_out)
{
    struct conflict_group *group = &reader->group;
    group->waits = !group->open;
    conflict_out->first = !group->open;
    if (group->open)
        set_primary(reader, group->owner);
    group->open = true;
    kx_buffer_clear(&reader->bound);
    extract_lookup_values(group->index->declaration,
                          kx_buffer_slice(&reader->row), &reader->bound);
    conflict_out->value = kx_buffer_slice(&reader->bound);
    conflict_out->key = kx_buffer_slice(&reader->primary);
    return reader->primary.failed || reader->bound.failed ? KX_NO_MEMORY
                                                          : KX_OK;
}

enum kx_status kx_conflict_next(struct kx_reader *reader,
                                struct kx_conflict *conflict_out)
{
    while (!reader->group.waits) {
        struct kx_slice key;
        struct kx_slice bytes;
        enum kx_status status = engine_range_next(reader->rows, &key, &bytes);
        reader->ended = status == KX_END;
        if (status != KX_OK)
            return status;
        kx_buffer_clear(&reader->position);
        kx_add_slice(&reader->position, key);
        if (reader->position.failed)
            return KX_NO_MEMORY;
        status = take_row(reader, bytes);
        if (status == KX_OK)
            break;
        if (status != KX_ABSENT)
            return status;
    }
    return give(reader, conflict_out);
}

struct kx_slice kx_conflict_position(struct kx_reader *reader)
{
    size_t skip = reader->group.index->declaration->name_key.size + 1;
    if (reader->position.size < skip)
        return kx_slice(NULL, 0);
    return kx_slice(reader->position.data + skip, reader->position.size - skip);
}
