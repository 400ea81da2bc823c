/* POST .../snapshot_read: some ranges in one view. Most requests are for one
 * key, written as a range that can only hold this key (Deno) or as the first
 * entry from the key on (@deno/kv); both are a look-up. A large reply is
 * converted after the view has ended. */
#include <talloc.h>

#include "access/access.h"
#include "kvconnect/datapath.pb-c.h"
#include "kvconnect/kvconnect.h"
#include "kvconnect/protobuf.h"
#include "rest/refusal.h"

/* ---- Rows of the reply -------------------------------------------------- */

/* A small reply is written while it is read. The rows of a large reply are only
 * copied inside the view, since commits wait until it ends and converting a
 * value for JavaScript takes ten times as long; they are written afterwards,
 * some in each turn. */

enum { OUTPUT_RANGES = 1 };
enum { RANGE_VALUES = 1 };

/* Bytes of a reply that is written inside the view, and of values written in
 * one turn. Both take a few milliseconds at most, unless a value is larger. */
enum { AT_ONCE_MAX = 64 << 10, TURN_BYTES = 256 << 10 };

/* A row that is read but not written yet. */
struct kept_row {
    struct kept_row *next;
    size_t range;
    struct kx_entry entry; /* its slices lie in `bytes` */
    uint8_t bytes[];
};

/* The reply of a snapshot_read: the rows of its ranges, in the client's order.
 */
struct snapshot_rows {
    struct kvconnect_writer writer;
    const void *memory;    /* the request's */
    void *pool;            /* of rows that are not written yet; NULL: none */
    size_t reached;        /* ranges whose rows were added */
    size_t written;        /* ranges begun in the reply */
    size_t place;          /* of the last of these in the reply */
    struct kept_row *next; /* to be written, in order; NULL: none */
    struct kept_row *last;
    size_t kept; /* bytes of their values */
};

/* Begins the reply to the request in out. */
static void begin_rows(struct snapshot_rows *rows,
                       const struct request *request, struct kx_buffer *out)
{
    rows->memory = request->memory;
    rows->pool = NULL;
    rows->reached = rows->written = 0;
    rows->next = rows->last = NULL;
    rows->kept = 0;
    kvconnect_writer_init(&rows->writer, request, request->memory, out);
}

/* Reserves the bytes for the length of the range that is being written, so that
 * its end does not move megabytes. */
static void expect(struct snapshot_rows *rows)
{
    struct kx_buffer *out = rows->writer.out;
    size_t size = out->size - rows->place;
    for (const struct kept_row *row = rows->next;
         row != NULL && row->range == rows->written; row = row->next)
        size += row->entry.value.data.size;
    rows->place = protobuf_expect(rows->place, size, out);
}

/* Closes the ranges before this one in the reply. */
static void go_to(struct snapshot_rows *rows, size_t range)
{
    for (; rows->written < range; rows->written++) {
        if (rows->written > 0)
            protobuf_close(rows->place, rows->writer.out);
        rows->place = protobuf_open(OUTPUT_RANGES, rows->writer.out);
    }
}

/* Rows added from now on belong to the next range, which may have none. */
static void begin_range(struct snapshot_rows *rows)
{
    rows->reached++;
    if (rows->next == NULL)
        go_to(rows, rows->reached);
}

/* Returns about the number of bytes that the reply will have. */
static size_t rows_size(const struct snapshot_rows *rows)
{
    return rows->writer.out->size + rows->kept;
}

static void keep(struct snapshot_rows *rows, const struct kx_entry *entry)
{
    size_t key = entry->key.size;
    size_t value = entry->value.data.size;
    struct kept_row *row = NULL;
    if (rows->pool == NULL)
        rows->pool = talloc_new(rows->memory);
    if (rows->pool != NULL)
        row = talloc_size(rows->pool, sizeof *row + key + value);
    if (row == NULL) {
        rows->writer.out->failed = true;
        return;
    }
    *row = (struct kept_row){.range = rows->reached, .entry = *entry};
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

/* Adds a row, which is copied. Inside a view. */
static void add_row(struct snapshot_rows *rows, const struct kx_entry *entry)
{
    size_t size = rows->writer.out->size + entry->value.data.size;
    if (rows->next == NULL && size <= AT_ONCE_MAX)
        kvconnect_entry(&rows->writer, RANGE_VALUES, entry);
    else
        keep(rows, entry);
}

/* Writes a reply of one range with one row, or none (NULL), outside of any
 * view. */
static void write_only(struct snapshot_rows *rows, const struct kx_entry *entry)
{
    struct kx_buffer *out = rows->writer.out;
    size_t place = protobuf_open(OUTPUT_RANGES, out);
    if (entry != NULL)
        kvconnect_entry(&rows->writer, RANGE_VALUES, entry);
    protobuf_close(place, out);
}

/* Writes the next row; returns the bytes of its value. */
static size_t write_next(struct snapshot_rows *rows)
{
    struct kept_row *row = rows->next;
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

/* Writes some of the kept rows, outside of any view. Returns true if all are
 * written; then nothing can be added. */
static bool write_rows(struct snapshot_rows *rows)
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

enum { OUTPUT_STRONG = 4, OUTPUT_STATUS = 8 };

/* The state of reading, and the fault that stopped it. */
struct reading {
    struct kx_reader *reader;
    struct snapshot_rows rows;
    struct kx_buffer record; /* of a look-up */
    struct kx_fault fault;
    struct kx_slice start; /* of the current range */
    bool too_large;
};

/* True if the range can hold only the key `start`. */
static bool is_one_key(const struct kx_range *range)
{
    return range->end.size == range->start.size + 1 &&
           range->end.data[range->start.size] == 0 &&
           kx_starts_with(range->end, range->start);
}

static struct kx_range range_of(const Datapath__ReadRange *message)
{
    return (struct kx_range){.start = protobuf_slice(message->start),
                             .end = protobuf_slice(message->end),
                             .reverse = message->reverse};
}

static bool asks_first(const struct kx_range *range,
                       const Datapath__ReadRange *message)
{
    return message->limit == 1 && !range->reverse && range->start.size > 0 &&
           kx_compare(range->start, range->end) < 0;
}

static bool is_too_large(const struct reading *reading)
{
    return rows_size(&reading->rows) > KVCONNECT_REPLY_MAX;
}

static enum kx_status read_rows(struct reading *reading,
                                const struct kx_range *range, size_t limit)
{
    struct kx_entry entry;
    enum kx_status status = kx_scan(reading->reader, range, &reading->fault);
    if (status != KX_OK)
        return status;
    while (status == KX_OK && limit-- > 0 && !reading->too_large) {
        status = kx_scan_next(reading->reader, &entry);
        if (status == KX_OK)
            add_row(&reading->rows, &entry);
        reading->too_large = is_too_large(reading);
    }
    kx_scan_end(reading->reader);
    return status == KX_END ? KX_OK : status;
}

/* Reads the first entry of the range: the one at its start, if there is one. */
static enum kx_status read_first(struct reading *reading,
                                 const struct kx_range *range)
{
    struct kx_entry entry;
    enum kx_status status = kx_read(reading->reader, range->start,
                                    &reading->record, &entry, &reading->fault);
    if (status == KX_OK)
        add_row(&reading->rows, &entry);
    else if (status == KX_ABSENT && is_one_key(range))
        status = KX_OK;
    else if (status == KX_ABSENT)
        status = read_rows(reading, range, 1);
    return status;
}

static enum kx_status read_range(struct reading *reading,
                                 const Datapath__ReadRange *message)
{
    struct kx_range range = range_of(message);
    enum kx_status status = KX_OK;
    reading->start = range.start;
    begin_range(&reading->rows);
    if (asks_first(&range, message))
        status = read_first(reading, &range);
    else if (kx_compare(range.start, range.end) < 0)
        status = read_rows(reading, &range, (size_t)message->limit);
    return status;
}

/* Answers a client's get. Returns false if it is not one, or needs a scan. The
 * fault is KX_AGAIN if the entry is not in the cache and there is no view. The
 * view ends before the reply is made. */
static bool read_get(struct reading *reading,
                     const Datapath__SnapshotRead *read, uint64_t *flush_out)
{
    struct kx_fault *fault = &reading->fault;
    struct kx_entry entry;
    if (read->n_ranges != 1)
        return false;
    struct kx_range range = range_of(read->ranges[0]);
    if (!asks_first(&range, read->ranges[0]))
        return false;
    reading->start = range.start;
    *flush_out = kx_read_alone(reading->reader, range.start, &reading->record,
                               &entry, fault);
    if (fault->status == KX_AGAIN)
        return true;
    bool found = fault->status == KX_OK;
    if (fault->status == KX_ABSENT)
        fault->status = KX_OK;
    if (!found && fault->status == KX_OK && !is_one_key(&range))
        return false;
    write_only(&reading->rows, found ? &entry : NULL);
    return true;
}

static uint64_t read_ranges(struct reading *reading,
                            const Datapath__SnapshotRead *read)
{
    struct kx_fault *fault = &reading->fault;
    kx_read_begin(reading->reader);
    for (size_t i = 0;
         i < read->n_ranges && fault->status == KX_OK && !reading->too_large;
         i++) {
        fault->status = read_range(reading, read->ranges[i]);
        reading->too_large = is_too_large(reading);
    }
    return kx_read_end(reading->reader);
}

/* Returns true if the request was a get and is answered. The fault is KX_AGAIN
 * if the section has no view but needs one. */
static bool read_asked(struct reading *reading,
                       const Datapath__SnapshotRead *read, uint64_t *flush_out)
{
    if (read_get(reading, read, flush_out))
        return true;
    if (kx_read_try_hold(reading->reader))
        *flush_out = read_ranges(reading, read);
    else
        reading->fault.status = KX_AGAIN;
    return false;
}

/* ---- The request -------------------------------------------------------- */

static bool check_bound(const char *name, size_t size,
                        struct input_error *error)
{
    return size <= KX_KEY_BOUND_MAX ||
           input_error_set(error, PROBLEM_KEY_TOO_LONG,
                           "The %s of a range has %zu bytes; the limit is %d.",
                           name, size, KX_KEY_BOUND_MAX);
}

static bool check_ranges(const Datapath__SnapshotRead *read,
                         struct input_error *error)
{
    int64_t rows = 0;
    if (read->n_ranges > KVCONNECT_RANGES_MAX)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "There are %zu ranges; the limit is %d.",
                               read->n_ranges, KVCONNECT_RANGES_MAX);
    for (size_t i = 0; i < read->n_ranges; i++) {
        const Datapath__ReadRange *range = read->ranges[i];
        if (range->limit < 1)
            return input_error_set(
                error, PROBLEM_BAD_REQUEST,
                "The limit of a range is %d; it must be at least "
                "1.",
                range->limit);
        if (!check_bound("start", range->start.len, error) ||
            !check_bound("end", range->end.len, error))
            return false;
        rows += range->limit;
    }
    return rows <= KVCONNECT_ROWS_MAX ||
           input_error_set(
               error, PROBLEM_BAD_REQUEST,
               "The limits of the ranges add up to %lld entries; the "
               "limit is %d.",
               (long long)rows, KVCONNECT_ROWS_MAX);
}

/* True if the client looks up one key: Deno sends a range that can hold only
 * this key; @deno/kv asks for the first entry from the key to the end of the
 * store and ignores any other entry. */
static bool is_look_up(const Datapath__ReadRange *message,
                       const struct kx_range *range)
{
    bool to_the_end = range->end.size == 1 && range->end.data[0] == 0xff;
    return message->limit == 1 && !message->reverse &&
           kx_key_check(range->start, NULL) == KX_OK &&
           (to_the_end || is_one_key(range));
}

/* Narrows the range to its first key. False without memory. */
static bool narrow(struct request *request, Datapath__ReadRange *message)
{
    size_t size = message->start.len;
    uint8_t *end = talloc_size(request->memory, size + 1);
    if (end == NULL)
        return false;
    memcpy(end, message->start.data, size);
    end[size] = 0;
    message->end = (ProtobufCBinaryData){.data = end, .len = size + 1};
    return true;
}

static bool may_read_range(struct request *request, struct reply *reply,
                           Datapath__ReadRange *message)
{
    struct kx_range range = {.start = protobuf_slice(message->start),
                             .end = protobuf_slice(message->end)};
    if (access_spans(request, SCOPE_LIST, &range))
        return true;
    if (!is_look_up(message, &range))
        return access_range(request, reply, SCOPE_LIST, &range);
    if (!access_key(request, reply, SCOPE_READ, range.start))
        return false;
    reply->body.failed |= !narrow(request, message);
    return !reply->body.failed;
}

static bool may_read(struct request *request, struct reply *reply,
                     const Datapath__SnapshotRead *read)
{
    access_asked(request);
    for (size_t i = 0; i < read->n_ranges; i++)
        if (!may_read_range(request, reply, read->ranges[i]))
            return false;
    return true;
}

static void refuse_size(struct request *request, struct reply *reply)
{
    problem(request, reply, PROBLEM_PAYLOAD_TOO_LARGE,
            "The entries asked for have more than %d bytes: a list "
            "needs a smaller batchSize, getMany fewer keys.",
            KVCONNECT_REPLY_MAX);
}

/* Call it after the view has ended, because it looks up the index in its own
 * view. */
static void refuse(struct request *request, struct reply *reply,
                   const struct reading *reading)
{
    if (reading->too_large) {
        refuse_size(request, reply);
        return;
    }
    refuse_key(request, reply, &reading->fault, reading->start);
}

static void start_reading(struct reading *reading,
                          const struct request *request, struct kx_buffer *out)
{
    reading->reader = request->reader;
    kx_fault_clear(&reading->fault);
    reading->too_large = false;
    kx_buffer_init(&reading->record, request->memory);
    begin_rows(&reading->rows, request, out);
}

static void end_reply(struct reply *reply)
{
    protobuf_number(OUTPUT_STRONG, true, &reply->body);
    protobuf_number(OUTPUT_STATUS, DATAPATH__SNAPSHOT_READ_STATUS__SR_SUCCESS,
                    &reply->body);
    kvconnect_answer(reply);
}

struct snapshot_input {
    const Datapath__SnapshotRead *read;
    struct reading reading;
    bool done;  /* all is read */
    bool alone; /* the reply is written: it was a get */
};

/* Without a view this answers only a get of a cached entry. */
static void read_all(struct request *request, struct reply *reply, void *arg)
{
    struct snapshot_input *asked = arg;
    struct reading *reading = &asked->reading;
    if (!may_read(request, reply, asked->read))
        return;
    start_reading(reading, request, &reply->body);
    asked->alone = read_asked(reading, asked->read, &reply->flush);
    asked->done = reading->fault.status == KX_OK && !reading->too_large;
    if (!asked->done && reading->fault.status != KX_AGAIN)
        refuse(request, reply, reading);
}

/* Writes the rows, some in each turn. */
static void write_reply(struct request *request, struct reply *reply,
                        struct snapshot_rows *rows)
{
    for (;;) {
        bool done = write_rows(rows);
        request->kept = rows->kept;
        if (rows_size(rows) > KVCONNECT_REPLY_MAX) {
            refuse_size(request, reply);
            return;
        }
        if (done) {
            end_reply(reply);
            return;
        }
        if (!request_turn(request))
            return;
    }
}

void kvconnect_read(struct request *request, struct reply *reply)
{
    struct snapshot_input asked;
    struct input_error error;
    asked.done = false;
    if (!kvconnect_admit(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    asked.read =
        protobuf_read(request, &datapath__snapshot_read__descriptor, &error);
    if (asked.read == NULL || !check_ranges(asked.read, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    request_peek(request, read_all, &asked);
    if (!asked.done && reply->status == 0)
        request_read(request, read_all, &asked);
    if (asked.done && asked.alone)
        end_reply(reply);
    else if (asked.done)
        write_reply(request, reply, &asked.reading.rows);
}
