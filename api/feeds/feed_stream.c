/* The events of a watch of an index of changes. Each has entries of one commit,
 * and its id is the commit's versionstamp. A commit with many entries has
 * several events, of which only the last one has an id, so a client that comes
 * again with an id has all of that commit.
 *
 * The entries are read in short views when the client has room for them, so
 * nothing is kept for a slow one. Between two views an entry may have changed
 * again: then it has moved to the end of the index, where it is read later. */
#include "feeds/feed_stream.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "access/access.h"
#include "http/problem.h"
#include "http/service.h"
#include "rest/entryjson.h"

enum {
    FEED_EVENT_ENTRIES_MAX = 1000,    /* entries of one event */
    FEED_EVENT_BYTES_MAX = 256 << 10, /* of it, without its last entry */
    /* What ends a slice, whichever comes first. */
    SLICE_BYTES = 32 << 10,
    SLICE_ENTRIES = 500
};

enum slice_end { SLICE_MORE, SLICE_CURRENT, SLICE_GONE, SLICE_FAILED };

/* ---- Where it stands ---------------------------------------------------- */

static void add_stamp_part(uint64_t stamp, struct kx_buffer *out)
{
    char digits[KX_STAMP_DIGITS];
    kx_stamp_text(stamp, digits);
    kx_key_add_string(out, kx_slice(digits, sizeof digits));
}

/* The next slice begins after the commits that were read. */
static bool set_start(struct feed_stream *feed)
{
    feed->after.size = feed->start.size = 0;
    kx_add_slice(&feed->start, feed->group);
    add_stamp_part(feed->read.stamp + 1, &feed->start);
    return !feed->start.failed;
}

bool feed_stream_begin(struct feed_stream *feed,
                       const struct feed_position *position)
{
    const void *memory = feed->stream.request->memory;
    kx_buffer_init(&feed->start, memory);
    kx_buffer_init(&feed->end, memory);
    kx_buffer_init(&feed->after, memory);
    kx_add_slice(&feed->end, feed->group);
    if (feed->group.size > 0)
        kx_add_byte(&feed->end, 0xff);
    feed->read = *position;
    feed->sent = position->stamp;
    return set_start(feed) && !feed->end.failed;
}

/* ---- Events ------------------------------------------------------------- */

static void add_id(struct feed_stream *feed, uint64_t stamp,
                   struct kx_buffer *chunk)
{
    const struct feed_position position = {.stamp = stamp,
                                           .began = feed->read.began};
    kx_add_text(chunk, "id: ");
    feed_position_write(&position, chunk);
    kx_add_byte(chunk, '\n');
    feed->sent = stamp;
}

static void open_event(struct feed_stream *feed, uint64_t stamp,
                       struct kx_buffer *chunk)
{
    feed->event = (struct feed_event){.open = true, .stamp = stamp};
    kx_add_text(chunk, "event: change\ndata: {\"entries\":[");
    if (stamp - 1 > feed->read.stamp)
        feed->read.stamp = stamp - 1;
}

/* whole: nothing more of the commit follows. */
static void close_event(struct feed_stream *feed, bool whole,
                        struct kx_buffer *chunk)
{
    if (!feed->event.open)
        return;
    kx_add_text(chunk, "]}\n");
    if (whole)
        add_id(feed, feed->event.stamp, chunk);
    kx_add_byte(chunk, '\n');
    feed->event.open = false;
    feed->silence.sent_ns = kx_monotonic_ns();
}

static bool is_full(const struct feed_event *event)
{
    return event->entries >= FEED_EVENT_ENTRIES_MAX ||
           event->bytes >= FEED_EVENT_BYTES_MAX;
}

static void add_entry(struct feed_stream *feed, const struct kx_entry *entry,
                      struct kx_buffer *chunk)
{
    struct feed_event *event = &feed->event;
    bool same = entry->stamp == event->stamp;
    if (!same || is_full(event))
        close_event(feed, !same, chunk);
    if (event->open)
        kx_add_byte(chunk, ',');
    else
        open_event(feed, entry->stamp, chunk);
    size_t start = chunk->size;
    entryjson_write(entry, chunk);
    entryjson_one_line(chunk, start);
    event->entries++;
    event->bytes += chunk->size - start;
}

/* Tells that the client has all up to an id, so that its position does not grow
 * old while nothing changes. The id is on disk, or of an event that is. */
static void add_bookmark(struct feed_stream *feed, struct kx_buffer *chunk)
{
    uint64_t stamp = feed->stored > feed->sent ? feed->stored : feed->sent;
    kx_add_text(chunk, "event: bookmark\ndata: {}\n");
    add_id(feed, stamp, chunk);
    kx_add_byte(chunk, '\n');
    feed->current = true;
    feed->silence.sent_ns = kx_monotonic_ns();
}

/* The status has already been sent: the error can only be an event. */
static void add_error(struct feed_stream *feed, enum problem_code code,
                      const char *detail, struct kx_buffer *chunk)
{
    close_event(feed, false, chunk);
    kx_add_text(chunk, "event: error\ndata: ");
    problem_write(chunk, code, detail);
    if (code == PROBLEM_HISTORY_GONE && chunk->size > 0) {
        chunk->size--; /* the brace */
        kx_add_text(chunk, ",\"listedAt\":");
        kx_json_escape(feed->list, chunk);
        kx_add_byte(chunk, '}');
    }
    kx_add_text(chunk, "\n\n");
}

void feed_stream_gone(const struct feed_position *position,
                      const struct kx_changes *changes, char *out, size_t size)
{
    char at[KX_STAMP_DIGITS + 1] = "";
    char since[KX_STAMP_DIGITS + 1] = "";
    kx_stamp_text(position->stamp, at);
    kx_stamp_text(changes->history, since);
    if (position->stamp > changes->stamp || position->began > changes->stamp)
        snprintf(out, size,
                 "The position %s was given by another store, or by a state of "
                 "this one that was lost.",
                 at);
    else
        snprintf(out, size,
                 "The index has all changes after versionstamp %s, but the "
                 "position %s is older.",
                 since, at);
}

/* ---- Reading ------------------------------------------------------------ */

static bool note_place(struct feed_stream *feed, struct kx_reader *reader)
{
    feed->after.size = 0;
    kx_add_slice(&feed->after, kx_scan_position(reader));
    return !feed->after.failed;
}

/* KX_END: that was all in this view. KX_OK: there may be more. A slice ends
 * between two commits, so that a client sees a commit as it was in one view; it
 * ends within one that has more than an event. */
static enum kx_status add_rows(struct feed_stream *feed,
                               struct kx_reader *reader,
                               struct kx_buffer *chunk)
{
    struct kx_entry entry;
    for (size_t n = 0; n < SLICE_ENTRIES + FEED_EVENT_ENTRIES_MAX &&
                       chunk->size < SLICE_BYTES + FEED_EVENT_BYTES_MAX;
         n++) {
        enum kx_status status = kx_scan_next(reader, &entry);
        if (status == KX_AGAIN)
            break;
        if (status != KX_OK)
            return status;
        bool full = n >= SLICE_ENTRIES || chunk->size >= SLICE_BYTES;
        if (full && entry.stamp != feed->event.stamp) {
            close_event(feed, true, chunk);
            return KX_OK; /* this one is for the next slice */
        }
        add_entry(feed, &entry, chunk);
        full = n + 1 >= SLICE_ENTRIES || chunk->size >= SLICE_BYTES;
        if (full && !note_place(feed, reader))
            return KX_NO_MEMORY;
    }
    return note_place(feed, reader) ? KX_OK : KX_NO_MEMORY;
}

static enum kx_status scan(struct feed_stream *feed, struct kx_reader *reader,
                           struct kx_buffer *chunk, struct kx_fault *fault)
{
    const struct kx_range range = {.start = kx_buffer_slice(&feed->start),
                                   .end = kx_buffer_slice(&feed->end),
                                   .after = kx_buffer_slice(&feed->after),
                                   .yields = true};
    enum kx_status status = kx_scan_index(reader, feed->index, &range, fault);
    if (status != KX_OK)
        return status;
    status = add_rows(feed, reader, chunk);
    kx_scan_end(reader);
    return status;
}

/* All commits of the view are read. */
static enum slice_end take_end(struct feed_stream *feed,
                               const struct kx_changes *changes,
                               struct kx_buffer *chunk)
{
    close_event(feed, true, chunk);
    feed->read = (struct feed_position){.stamp = changes->stamp};
    feed->stored = changes->stored;
    if (!feed->current)
        add_bookmark(feed, chunk);
    chunk->failed |= !set_start(feed);
    return SLICE_CURRENT;
}

/* Reads in one view, which ends with it. */
static enum slice_end read_slice(struct feed_stream *feed,
                                 struct kx_buffer *chunk, uint64_t *flush_out)
{
    struct kx_reader *reader = feed->stream.request->reader;
    struct kx_fault fault = {.status = KX_OK};
    struct kx_changes changes;
    char detail[KX_DETAIL_MAX];
    bool gone = false;
    kx_read_begin(reader);
    fault.status = kx_index_changes(reader, feed->index, &changes, &fault);
    if (fault.status == KX_OK)
        gone = feed_position_is_gone(&feed->read, &changes);
    if (fault.status == KX_OK && !gone)
        fault.status = scan(feed, reader, chunk, &fault);
    uint64_t flush = kx_read_end(reader);
    *flush_out = chunk->size > 0 ? flush : 0;
    if (gone) {
        feed_stream_gone(&feed->read, &changes, detail, sizeof detail);
        add_error(feed, PROBLEM_HISTORY_GONE, detail, chunk);
        return SLICE_GONE;
    }
    if (fault.status == KX_END)
        return take_end(feed, &changes, chunk);
    if (fault.status == KX_OK)
        return SLICE_MORE;
    add_error(feed, problem_of(fault.status), kx_status_title(fault.status),
              chunk);
    return SLICE_FAILED;
}

/* ---- The stream --------------------------------------------------------- */

static bool may_go_on(const struct feed_stream *feed)
{
    const struct request *request = feed->stream.request;
    return !atomic_load(&request->service->stopping) &&
           access_sees_index(request, SCOPE_WATCH, feed->index);
}

/* True when something was appended. */
static bool add_sign(struct feed_stream *feed, struct kx_buffer *chunk)
{
    if (feed->stored <= feed->sent || !watch_silence_due(&feed->silence))
        return watch_silence_add(&feed->silence, chunk);
    add_bookmark(feed, chunk);
    return true;
}

bool feed_stream_next(struct stream *stream, struct kx_buffer *chunk,
                      uint64_t *flush_out)
{
    struct feed_stream *feed = stream->state;
    do {
        if (!may_go_on(feed))
            return false;
        if (!feed->silence.begun)
            watch_silence_add(&feed->silence, chunk);
        enum slice_end end = read_slice(feed, chunk, flush_out);
        if (end == SLICE_GONE || end == SLICE_FAILED)
            return false;
        if (end == SLICE_MORE || chunk->size > 0 || chunk->failed ||
            add_sign(feed, chunk))
            return true;
    } while (!watch_wait(stream->request, feed->watch,
                         watch_silence_end(&feed->silence)));
    watch_wait_release(chunk);
    return true;
}
