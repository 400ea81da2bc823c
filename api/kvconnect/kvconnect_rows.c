/* The rows of a snapshot_read, in the reply or on their way there. */
#include "kvconnect/kvconnect_rows.h"

#include <talloc.h>

#include "kvconnect/protobuf.h"

enum { OUTPUT_RANGES = 1 };
enum { RANGE_VALUES = 1 };

/* Bytes: of a reply that is written inside the view, and of values that are
 * written before others have their turn. Both take a few milliseconds at most,
 * if no value is larger. */
enum { AT_ONCE_MAX = 64 << 10, TURN_BYTES = 256 << 10 };

/* Read, and not written yet. */
struct kvconnect_row {
    struct kvconnect_row *next;
    size_t range;
    struct kx_entry entry; /* in bytes */
    uint8_t bytes[];
};

void kvconnect_rows_init(struct kvconnect_rows *rows,
                         const struct request *request, struct kx_buffer *out)
{
    rows->memory = request->memory;
    rows->pool = NULL;
    rows->reached = rows->written = 0;
    rows->next = rows->last = NULL;
    rows->kept = 0;
    kvconnect_writer_init(&rows->writer, request, request->memory, out);
}

/* Reserves the bytes that the length of the range being written will need, so
 * that no megabytes are moved at its end. */
static void expect(struct kvconnect_rows *rows)
{
    struct kx_buffer *out = rows->writer.out;
    size_t size = out->size - rows->place;
    for (const struct kvconnect_row *row = rows->next;
         row != NULL && row->range == rows->written; row = row->next)
        size += row->entry.value.data.size;
    rows->place = protobuf_expect(rows->place, size, out);
}

/* Ends the range that is being written, if it is not this one. */
static void go_to(struct kvconnect_rows *rows, size_t range)
{
    for (; rows->written < range; rows->written++) {
        if (rows->written > 0)
            protobuf_close(rows->place, rows->writer.out);
        rows->place = protobuf_open(OUTPUT_RANGES, rows->writer.out);
    }
}

void kvconnect_rows_range(struct kvconnect_rows *rows)
{
    rows->reached++;
    if (rows->next == NULL)
        go_to(rows, rows->reached);
}

static void keep(struct kvconnect_rows *rows, const struct kx_entry *entry)
{
    size_t key = entry->key.size;
    size_t value = entry->value.data.size;
    struct kvconnect_row *row = NULL;
    if (rows->pool == NULL)
        rows->pool = talloc_new(rows->memory);
    if (rows->pool != NULL)
        row = talloc_size(rows->pool, sizeof *row + key + value);
    if (row == NULL) {
        rows->writer.out->failed = true;
        return;
    }
    *row = (struct kvconnect_row){.range = rows->reached, .entry = *entry};
    memcpy(row->bytes, entry->key.data, key);
    if (value > 0)
        memcpy(row->bytes + key, entry->value.data.data, value);
    row->entry.key.data = row->bytes;
    row->entry.value.data.data = row->bytes + key;
    row->entry.value.media_type = kx_slice(NULL, 0); /* is not told */
    if (rows->next == NULL)
        rows->next = row;
    else
        rows->last->next = row;
    rows->last = row;
    rows->kept += value;
}

void kvconnect_rows_add(struct kvconnect_rows *rows,
                        const struct kx_entry *entry)
{
    size_t size = rows->writer.out->size + entry->value.data.size;
    if (rows->next == NULL && size <= AT_ONCE_MAX)
        kvconnect_entry(&rows->writer, RANGE_VALUES, entry);
    else
        keep(rows, entry);
}

void kvconnect_rows_only(struct kvconnect_rows *rows,
                         const struct kx_entry *entry)
{
    struct kx_buffer *out = rows->writer.out;
    size_t place = protobuf_open(OUTPUT_RANGES, out);
    if (entry != NULL)
        kvconnect_entry(&rows->writer, RANGE_VALUES, entry);
    protobuf_close(place, out);
}

/* Writes the next row; returns the bytes of its value. */
static size_t write_next(struct kvconnect_rows *rows)
{
    struct kvconnect_row *row = rows->next;
    size_t size = row->entry.value.data.size;
    if (row->range != rows->written) {
        go_to(rows, row->range);
        expect(rows);
    }
    kvconnect_entry(&rows->writer, RANGE_VALUES, &row->entry);
    rows->next = row->next;
    rows->kept -= size;
    talloc_free(row);
    return size;
}

bool kvconnect_rows_write(struct kvconnect_rows *rows)
{
    if (rows->next != NULL)
        expect(rows);
    for (size_t size = 0; rows->next != NULL && size < TURN_BYTES;)
        size += write_next(rows);
    if (rows->next != NULL)
        return false;
    go_to(rows, rows->reached);
    if (rows->written > 0)
        protobuf_close(rows->place, rows->writer.out);
    return true;
}
