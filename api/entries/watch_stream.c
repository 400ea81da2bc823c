/* The events of a watch. An event is made when the client has room for it, from
 * the entries as they are then: a client that reads slowly gets fewer events,
 * and nothing is kept for it. */
#include "entries/watch_stream.h"

#include <stdatomic.h>
#include <talloc.h>

#include "access/access.h"
#include "entries/explain_request.h"
#include "rest/entryjson.h"
#include "http/problem.h"
#include "entries/watch_event_id.h"
#include "http/service.h"
#include "entries/subkeys.h"

/* Above this size fewer keys have to be watched, or a prefix has to be
 * listed. */
enum { EVENT_BYTES_MAX = 16 << 20 };

/* ---- Events ------------------------------------------------------------- */

/* One event under way. */
struct event {
    struct kx_buffer *out;
    size_t changed; /* entries in it */
    struct kx_fault fault;
};

/* The first event of a key with nothing but entries under it says where they
 * are listed. */
static void add_absent(struct watch_stream *watch, size_t i,
                       struct event *event)
{
    struct kx_buffer *out = event->out;
    entryjson_write_absent(watch->keys[i], out);
    if (watch->under == NULL || out->failed ||
        !subkeys_exist(watch->stream.request->reader, &watch->under_range))
        return;
    out->size--;
    kx_add_text(out, ",\"listedAt\":\"");
    explain_request_prefix(watch->keys[i], out);
    kx_add_text(out, "\"}");
}

/* A key of an index that cannot be read for now is left as it was: when it can
 * be read again there is news. */
static enum kx_status add_key(struct watch_stream *watch, size_t i,
                              struct event *event)
{
    struct kx_entry entry = {.stamp = 0};
    enum kx_status status =
        kx_read(watch->stream.request->reader, watch->keys[i], &watch->record,
                &entry, &event->fault);
    if (status == KX_INDEX_NOT_READY)
        return KX_OK;
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    if (entry.stamp == watch->stamps[i])
        return KX_OK;
    watch->stamps[i] = entry.stamp;
    if (event->changed++ > 0)
        kx_add_byte(event->out, ',');
    size_t start = event->out->size;
    if (status == KX_OK)
        entryjson_write(&entry, event->out);
    else
        add_absent(watch, i, event);
    entryjson_one_line(event->out, start);
    return event->out->size > EVENT_BYTES_MAX ? KX_COMMIT_TOO_LARGE : KX_OK;
}

/* The status has already been sent: the error can only be an event. */
static void add_error(const struct event *event, size_t start)
{
    bool large = event->fault.status == KX_COMMIT_TOO_LARGE;
    event->out->size = start;
    kx_add_text(event->out, "event: error\ndata: ");
    if (large)
        problem_write(event->out, PROBLEM_PAYLOAD_TOO_LARGE,
                      "The entries that have changed have more than 16777216 "
                      "bytes.");
    else
        problem_write(event->out, problem_of(event->fault.status),
                      kx_status_title(event->fault.status));
    kx_add_text(event->out, "\n\n");
}

/* Reads all keys in one view. What is not shown need not be on disk. */
static void read_keys(struct watch_stream *watch, struct event *event,
                      uint64_t *flush_out)
{
    struct kx_reader *reader = watch->stream.request->reader;
    kx_read_begin(reader);
    for (size_t i = 0; i < watch->count; i++) {
        event->fault.status = add_key(watch, i, event);
        if (event->fault.status != KX_OK)
            break;
    }
    uint64_t flush = kx_read_end(reader);
    *flush_out = event->changed > 0 ? flush : 0;
    TALLOC_FREE(watch->under);
}

static void add_reset(struct watch_stream *watch, struct kx_buffer *chunk)
{
    watch->lost = false;
    kx_add_text(chunk, "event: reset\ndata: {}\n\n");
    watch->silence.sent_ns = kx_monotonic_ns();
}

/* Appends an event if there is something to show; false when it is the last
 * one, because the entries cannot be read. */
static bool add_event(struct watch_stream *watch, struct kx_buffer *chunk,
                      uint64_t *flush_out)
{
    struct event event = {.out = chunk};
    size_t start = chunk->size;
    kx_add_text(chunk, "event: change\ndata: {\"entries\":[");
    read_keys(watch, &event, flush_out);
    if (event.fault.status == KX_COMMIT_TOO_LARGE && watch->of_prefix) {
        chunk->size = start;
        add_reset(watch, chunk);
        return true;
    }
    if (event.fault.status != KX_OK) {
        add_error(&event, start);
        return false;
    }
    if (event.changed == 0) {
        chunk->size = start;
        return true;
    }
    kx_add_text(chunk, "]}\n");
    if (!watch->of_prefix) {
        kx_add_text(chunk, "id: ");
        watch_event_id_write(watch->stamps, watch->count, chunk);
        kx_add_byte(chunk, '\n');
    }
    kx_add_byte(chunk, '\n');
    watch->silence.sent_ns = kx_monotonic_ns();
    return true;
}

/* ---- Of a prefix -------------------------------------------------------- */

static void forget_keys(struct watch_stream *watch)
{
    TALLOC_FREE(watch->keys);
    TALLOC_FREE(watch->stamps);
    watch->count = 0;
    watch_wait_release(&watch->changed);
}

/* The next event is about the keys that have changed until now; without memory
 * for them the client has to list them. */
static void collect(struct watch_stream *watch)
{
    const void *memory = watch->stream.request->memory;
    struct kx_slice *keys =
        talloc_array(memory, struct kx_slice, KX_WATCH_CHANGES_MAX);
    uint64_t *stamps = talloc_array(memory, uint64_t, KX_WATCH_CHANGES_MAX);
    watch->keys = keys;
    watch->stamps = stamps;
    if (keys == NULL || stamps == NULL ||
        !kx_watch_take(watch->watch, keys, &watch->count, &watch->changed))
        watch->lost = true;
    for (size_t i = 0; i < watch->count; i++)
        stamps[i] = WATCH_EVENT_ID_NOTHING;
}

static bool add_changes(struct watch_stream *watch, struct kx_buffer *chunk,
                        uint64_t *flush_out)
{
    collect(watch);
    if (watch->lost)
        add_reset(watch, chunk);
    bool goes_on = watch->count == 0 || add_event(watch, chunk, flush_out);
    forget_keys(watch);
    return goes_on;
}

/* ---- The stream --------------------------------------------------------- */

static bool may_go_on(const struct watch_stream *watch)
{
    const struct request *request = watch->stream.request;
    if (atomic_load(&request->service->stopping))
        return false;
    if (watch->of_prefix)
        return selector_visible(request, SCOPE_WATCH, &watch->selector);
    return access_sees_all(request, SCOPE_WATCH, watch->keys, watch->count);
}

/* When the server stops, the reply ends and the client connects again. */
bool watch_stream_next(struct stream *stream, struct kx_buffer *chunk,
                       uint64_t *flush_out)
{
    struct watch_stream *watch = stream->state;
    do {
        if (!may_go_on(watch))
            return false;
        if (!watch->silence.begun)
            watch_silence_add(&watch->silence, chunk);
        if (!(watch->of_prefix ? add_changes(watch, chunk, flush_out)
                               : add_event(watch, chunk, flush_out)))
            return false;
        if (chunk->size > 0 || chunk->failed ||
            watch_silence_add(&watch->silence, chunk))
            return true;
    } while (!watch_wait(stream->request, watch->watch,
                         watch_silence_end(&watch->silence)));
    watch_wait_release(chunk);
    watch_wait_release(&watch->record);
    return true;
}
