/* A watch of an index of changes: positions, the stream of events, and the
 * request. */
#include "feeds/feed.h"

#include <inttypes.h>
#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "feeds/last_event.h"
#include "http/problem.h"
#include "http/service.h"
#include "rest/entryjson.h"
#include "rest/refusal.h"

/* ---- Positions ---------------------------------------------------------- */

static void add_stamp(uint64_t stamp, struct kx_buffer *out)
{
    char text[KX_STAMP_DIGITS];
    kx_stamp_text(stamp, text);
    kx_add(out, text, sizeof text);
}

void feed_position_write(const struct feed_position *position,
                         struct kx_buffer *out)
{
    add_stamp(position->stamp, out);
    if (position->began <= position->stamp)
        return;
    kx_add_byte(out, ',');
    add_stamp(position->began, out);
}

bool feed_position_read(struct kx_slice text,
                        struct feed_position *position_out)
{
    const size_t second = KX_STAMP_DIGITS + 1;
    *position_out = (struct feed_position){0};
    if (text.size < second)
        return kx_stamp_parse(text, &position_out->stamp);
    return text.data[KX_STAMP_DIGITS] == ',' &&
           kx_stamp_parse(kx_slice(text.data, KX_STAMP_DIGITS),
                          &position_out->stamp) &&
           kx_stamp_parse(kx_slice(text.data + second, text.size - second),
                          &position_out->began);
}

bool feed_position_is_gone(const struct feed_position *position,
                           const struct kx_changes *changes)
{
    return position->stamp > changes->stamp ||
           position->began > changes->stamp ||
           (changes->history > position->stamp &&
            changes->history > position->began);
}

/* ---- The stream --------------------------------------------------------- */

/* An event has entries of one commit, and its id is the commit's versionstamp.
 * A commit with many entries has several events, and only the last one has an
 * id, so a client that reconnects with an id has all of that commit.
 *
 * Entries are read in short views when the client has room for them, so nothing
 * is queued for a slow client. An entry that changes between two views moves to
 * the end of the index, where it is read later. */

/* The event that is being written. It may continue in the next chunk. */
struct feed_event {
    bool open;
    uint64_t stamp; /* of its commit */
    size_t entries;
    size_t bytes;
};

/* The indexes that one client follows, and its positions in them. All of it
 * lies in the request's memory. */
struct feed_stream {
    struct watch_stream live;
    struct kx_slice index; /* its name */
    struct kx_slice group; /* encoded: the fields before the versionstamp */
    struct kx_slice list;  /* the address that lists the entries */
    /* How far the index was read. It may be beyond the last id, since commits
     * without entries for this client have no event. */
    struct feed_position read;
    uint64_t sent;   /* stamp of the last id, or of the client's position */
    uint64_t stored; /* commits up to this one are read and on disk */
    bool current;    /* the client was notified that it is up to date */
    struct feed_event event;
    struct kx_buffer
        start; /* bounds of the unread part, relative to the index */
    struct kx_buffer end;
    struct kx_buffer after; /* end of the last slice, or empty */
};

enum {
    FEED_EVENT_ENTRIES_MAX = 1000,    /* entries of one event */
    FEED_EVENT_BYTES_MAX = 256 << 10, /* of one event, without its last entry */
    /* A slice ends at whichever limit it reaches first. */
    SLICE_BYTES = 32 << 10,
    SLICE_ENTRIES = 500
};

/* ---- The next slice ----------------------------------------------------- */

static void add_stamp_part(uint64_t stamp, struct kx_buffer *out)
{
    char digits[KX_STAMP_DIGITS];
    kx_stamp_text(stamp, digits);
    kx_key_add_string(out, kx_slice(digits, sizeof digits));
}

/* Sets the beginning of the next slice: after the commits that were read. */
static bool set_start(struct feed_stream *feed)
{
    feed->after.size = feed->start.size = 0;
    kx_add_slice(&feed->start, feed->group);
    add_stamp_part(feed->read.stamp + 1, &feed->start);
    return !feed->start.failed;
}

/* Sets where a new stream begins. Returns false if memory ran out. */
static bool feed_stream_begin(struct feed_stream *feed,
                              const struct feed_position *position)
{
    const void *memory = feed->live.stream.request->memory;
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

/* Ends the event; `whole` if no more entries of its commit follow. */
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

/* Adds an event without entries that moves the client's position forward, so
 * that the position does not get old while nothing changes. */
static void add_bookmark(struct feed_stream *feed, struct kx_buffer *chunk)
{
    uint64_t stamp = feed->stored > feed->sent ? feed->stored : feed->sent;
    kx_add_text(chunk, "event: bookmark\ndata: {}\n");
    add_id(feed, stamp, chunk);
    kx_add_byte(chunk, '\n');
    feed->current = true;
}

/* The status was sent before, so the error is an event. */
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

/* Says why the index cannot be followed from a position that is gone. */
static void feed_stream_gone(const struct feed_position *position,
                             const struct kx_changes *changes, char *out,
                             size_t size)
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

/* Adds a slice. KX_END: all of the view was read; KX_OK: more may follow. A
 * slice ends between two commits, so that a client sees each commit as in one
 * view, unless a commit is larger than an event. */
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
            return KX_OK; /* this entry belongs to the next slice */
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

/* Called when all commits of the view are read. */
static enum watch_step take_end(struct feed_stream *feed,
                                const struct kx_changes *changes,
                                struct kx_buffer *chunk)
{
    close_event(feed, true, chunk);
    feed->read = (struct feed_position){.stamp = changes->stamp};
    feed->stored = changes->stored;
    if (!feed->current)
        add_bookmark(feed, chunk);
    chunk->failed |= !set_start(feed);
    return WATCH_CURRENT;
}

/* The source's `read`: a slice in one view. Events with the entries after the
 * position come in order, then events of new commits. */
static enum watch_step read_slice(struct watch_stream *live,
                                  struct kx_buffer *chunk, uint64_t *flush_out)
{
    struct feed_stream *feed = live->stream.state;
    struct kx_reader *reader = live->stream.request->reader;
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
        return WATCH_END;
    }
    if (fault.status == KX_END)
        return take_end(feed, &changes, chunk);
    if (fault.status == KX_OK)
        return WATCH_MORE;
    add_error(feed, problem_of(fault.status), kx_status_title(fault.status),
              chunk);
    return WATCH_END;
}

static bool is_visible(const struct watch_stream *live)
{
    const struct feed_stream *feed = live->stream.state;
    return access_sees_index(live->stream.request, SCOPE_WATCH, feed->index);
}

static void add_idle(struct watch_stream *live, struct kx_buffer *chunk)
{
    struct feed_stream *feed = live->stream.state;
    if (feed->stored > feed->sent)
        add_bookmark(feed, chunk);
    else
        watch_events_idle(live, chunk);
}

static const struct watch_source FEED_SOURCE = {.opening = WATCH_EVENTS_OPENING,
                                                .silence_ns =
                                                    WATCH_EVENTS_SILENCE_NS,
                                                .is_visible = is_visible,
                                                .read = read_slice,
                                                .idle = add_idle};

/* ---- The request -------------------------------------------------------- */

static bool bad(struct input_error *error, const char *parameter,
                const char *detail)
{
    input_error_set(error, PROBLEM_BAD_PARAMETER, "%s", detail);
    error->parameter = kx_text(parameter);
    return false;
}

static bool read_index(struct feed_stream *feed,
                       const struct query_params *query,
                       struct input_error *error)
{
    struct kx_buffer name;
    kx_buffer_init(&name, query->memory);
    if (query->key_count > 0 ||
        query_params_has(query, PARAMETER_VERSIONSTAMPS))
        return bad(error, "index",
                   "A watch of an index takes neither key nor versionstamps; "
                   "since says where it begins.");
    if (!query_params_text(query, PARAMETER_INDEX, &name, error))
        return false;
    if (name.size == 0)
        return bad(error, "index", "The name of the index is empty.");
    feed->index = kx_buffer_slice(&name);
    return true;
}

static bool read_group(struct feed_stream *feed,
                       const struct query_params *query,
                       struct input_error *error)
{
    struct kx_buffer group;
    kx_buffer_init(&group, query->memory);
    if (query_params_has(query, PARAMETER_PREFIX) &&
        !query_params_key(query, PARAMETER_PREFIX, &group, error))
        return false;
    feed->group = kx_buffer_slice(&group);
    return true;
}

/* Reads the position. *given_out is true if the client sent one. */
static bool read_position(struct feed_stream *feed,
                          const struct query_params *query, bool *given_out,
                          struct input_error *error)
{
    struct last_event last;
    if (!last_event_read(feed->live.stream.request, query, PARAMETER_SINCE,
                         &last, error))
        return false;
    *given_out = last.given;
    if (!last.given ||
        feed_position_read(kx_buffer_slice(&last.text), &feed->read))
        return true;
    return bad(error, "since",
               "since or Last-Event-ID must be the id of an event of such a "
               "watch, or a versionstamp: 20 hexadecimal digits.");
}

/* Keeps the address that lists the entries, with the client's parameters. */
static bool note_list(struct feed_stream *feed,
                      const struct query_params *query,
                      struct input_error *error)
{
    struct kx_buffer list;
    kx_buffer_init(&list, query->memory);
    kx_add_text(&list, "/list?index=");
    kx_add_slice(&list, query->raw[PARAMETER_INDEX]);
    if (query_params_has(query, PARAMETER_PREFIX)) {
        kx_add_text(&list, "&prefix=");
        kx_add_slice(&list, query->raw[PARAMETER_PREFIX]);
    }
    feed->list = kx_buffer_slice(&list);
    return !list.failed || input_error_no_memory(error);
}

/* ---- The index ---------------------------------------------------------- */

static size_t count_parts(struct kx_slice key)
{
    size_t count = 0;
    for (; key.size > 0; count++) {
        size_t size = kx_part_size(key);
        if (size == 0)
            break;
        key = kx_slice(key.data + size, key.size - size);
    }
    return count;
}

static bool right_group(const struct feed_stream *feed,
                        const struct kx_changes *changes,
                        struct input_error *error)
{
    size_t count = count_parts(feed->group);
    if (count == changes->groups)
        return true;
    if (changes->groups == 0)
        input_error_set(error, PROBLEM_BAD_PARAMETER,
                        "The index has no field before the versionstamp: leave "
                        "out prefix.");
    else
        input_error_set(error, PROBLEM_BAD_PARAMETER,
                        "prefix must give a value for each of the %zu fields "
                        "before the versionstamp; it has %zu parts.",
                        changes->groups, count);
    error->parameter = kx_text("prefix");
    return false;
}

/* Folds the texts of the group as the index does. */
static bool fold(struct feed_stream *feed, struct input_error *error)
{
    const struct request *request = feed->live.stream.request;
    struct kx_buffer folded;
    kx_buffer_init(&folded, request->memory);
    enum kx_status status =
        kx_index_fold(request->reader, feed->index, feed->group, &folded);
    if (status == KX_NO_MEMORY)
        return input_error_no_memory(error);
    if (status == KX_OK)
        feed->group = kx_buffer_slice(&folded);
    return true;
}

/* The state of the index in the first view. */
struct feed_look {
    struct kx_fault fault;
    struct kx_changes changes;
    struct input_error error;
    bool fits;
};

static void look(struct feed_stream *feed, struct feed_look *look_out)
{
    struct kx_reader *reader = feed->live.stream.request->reader;
    kx_read_begin(reader);
    look_out->fault.status = kx_index_changes(
        reader, feed->index, &look_out->changes, &look_out->fault);
    if (look_out->fault.status == KX_OK)
        look_out->fits =
            right_group(feed, &look_out->changes, &look_out->error) &&
            fold(feed, &look_out->error);
    kx_read_end(reader);
}

/* ---- The reply ---------------------------------------------------------- */

static void no_feed(struct feed_stream *feed, struct reply *reply)
{
    struct input_error error;
    input_error_set(&error, PROBLEM_BAD_PARAMETER,
                    "The index %.*s cannot be followed: its last field is not "
                    "{\"versionstamp\":true}.",
                    (int)feed->index.size, (const char *)feed->index.data);
    error.parameter = kx_text("index");
    input_error_reply(feed->live.stream.request, reply, &error);
}

static void gone(struct feed_stream *feed, struct reply *reply,
                 const struct kx_changes *changes)
{
    char detail[KX_DETAIL_MAX];
    feed_stream_gone(&feed->read, changes, detail, sizeof detail);
    problem(feed->live.stream.request, reply, PROBLEM_HISTORY_GONE, "%s",
            detail);
    problem_member_text(reply, "listedAt", feed->list);
}

/* Watches the keys under the index's name and the group. */
static enum kx_status open_watch(struct feed_stream *feed,
                                 struct kx_buffer *prefix)
{
    struct request *request = feed->live.stream.request;
    kx_key_add_string(prefix, feed->index);
    kx_add_slice(prefix, feed->group);
    if (prefix->failed)
        return KX_NO_MEMORY;
    if (prefix->size > KX_KEY_MAX)
        return KX_KEY_TOO_LONG;
    return kx_watch_open_prefix(request->service->store,
                                kx_buffer_slice(prefix), KX_WATCH_ANY,
                                request->memory, &feed->live.watch);
}

/* Without a position the stream begins before all entries, and the client does
 * not need the past removals. */
static void begin(struct feed_stream *feed, struct reply *reply,
                  const struct kx_changes *changes, bool given)
{
    struct kx_fault fault = {.status = KX_OK};
    struct kx_buffer prefix;
    if (!given)
        feed->read.began = changes->stored > changes->history
                               ? changes->stored
                               : changes->history;
    kx_buffer_init(&prefix, feed->live.stream.request->memory);
    fault.status = open_watch(feed, &prefix);
    if (fault.status == KX_KEY_TOO_LONG) {
        problem_status(feed->live.stream.request, reply, &fault);
        return;
    }
    const struct feed_position position = feed->read;
    if (fault.status != KX_OK || !feed_stream_begin(feed, &position))
        reply->body.failed = true;
    else
        watch_events_reply(&feed->live, reply);
}

static void follow(struct feed_stream *feed, struct reply *reply, bool given)
{
    struct request *request = feed->live.stream.request;
    struct feed_look looked = {.fits = false};
    look(feed, &looked);
    if (looked.fault.status == KX_BAD_INDEX) {
        no_feed(feed, reply);
        return;
    }
    if (looked.fault.status != KX_OK) {
        refuse_read(request, reply, &looked.fault, feed->index);
        return;
    }
    if (!looked.fits) {
        input_error_reply(request, reply, &looked.error);
        return;
    }
    if (given && feed_position_is_gone(&feed->read, &looked.changes)) {
        gone(feed, reply, &looked.changes);
        return;
    }
    begin(feed, reply, &looked.changes, given);
}

void feed_watch(struct request *request, struct reply *reply,
                const struct query_params *query)
{
    struct input_error error;
    bool given = false;
    struct feed_stream *feed = talloc_zero(request->memory, struct feed_stream);
    if (feed == NULL) {
        reply->body.failed = true;
        return;
    }
    watch_stream_init(&feed->live, &FEED_SOURCE, request);
    if (!read_index(feed, query, &error) || !read_group(feed, query, &error) ||
        !read_position(feed, query, &given, &error) ||
        !note_list(feed, query, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    if (!access_index(request, reply, SCOPE_WATCH, feed->index))
        return;
    follow(feed, reply, given);
}
