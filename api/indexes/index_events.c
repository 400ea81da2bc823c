/* The progress of an index as server-sent events (the HTML standard's chapter
 * of that name). Events are made when the client's connection has room for
 * them: a slow client gets fewer, none is kept for it. */
#include "indexes/index_wait.h"

#include <stdatomic.h>
#include <talloc.h>

#include "indexes/index_find.h"
#include "rest/indexjson.h"
#include "http/service.h"

/* After so long without an event a comment is sent: proxies keep the connection
 * open then, and a client that is gone is noticed. */
static const uint64_t SILENCE_NS = 15000000000;

/* What makes an event when it changes. The speed and the time left, which
 * change all the time, are shown, but do not. */
struct mark {
    uint64_t state;
    uint64_t paused;
    uint64_t done;
    uint64_t total;
    uint64_t skipped;
    uint64_t conflicts;
    uint64_t per_second_max;
};

struct events {
    struct stream stream;
    struct kx_slice name;
    bool begun;
    struct mark shown;    /* by the last event */
    uint64_t sent_ns;     /* when that was */
    struct kx_buffer now; /* the index as JSON */
};

enum outlook { SAME, CHANGED, SETTLED, GONE };

static struct mark mark_of(const struct kx_index_info *info)
{
    return (struct mark){.state = info->state,
                         .paused = info->paused,
                         .done = info->done,
                         .total = info->total,
                         .skipped = info->skipped,
                         .conflicts = info->conflicts,
                         .per_second_max = info->per_second_max};
}

/* The index now. */
static enum outlook look(struct events *events, uint64_t *flush_out)
{
    struct kx_reader *reader = events->stream.request->reader;
    struct kx_index_info info;
    struct mark mark;
    bool settled = false;
    events->now.size = 0;
    kx_read_begin(reader);
    bool found = index_find(events->stream.request, events->name, &info);
    if (found) {
        mark = mark_of(&info);
        settled = index_settled(&info);
        indexjson_write(&info, &events->now);
    }
    *flush_out = kx_read_end(reader);
    if (!found)
        return GONE;
    if (settled)
        return SETTLED;
    if (events->begun && memcmp(&mark, &events->shown, sizeof mark) == 0)
        return SAME;
    events->begun = true;
    events->shown = mark;
    return CHANGED;
}

static void add_event(struct events *events, const char *type,
                      struct kx_buffer *chunk)
{
    kx_add_text(chunk, "event: ");
    kx_add_text(chunk, type);
    kx_add_text(chunk, "\ndata: ");
    kx_add_slice(chunk, kx_buffer_slice(&events->now));
    kx_add_text(chunk, "\n\n");
    chunk->failed |= events->now.failed;
    events->sent_ns = kx_monotonic_ns();
}

/* Only this event can tell that the index is gone: the status was sent long
 * ago. */
static void add_gone(struct events *events, struct kx_buffer *chunk)
{
    kx_add_text(&events->now, "{\"name\":");
    kx_json_escape(events->name, &events->now);
    kx_add_byte(&events->now, '}');
    add_event(events, "gone", chunk);
}

static bool add_silence(struct events *events, struct kx_buffer *chunk)
{
    if (kx_monotonic_ns() - events->sent_ns < SILENCE_NS)
        return false;
    kx_add_text(chunk, ":\n\n");
    events->sent_ns = kx_monotonic_ns();
    return true;
}

/* A stopping server sends no final event: a client that connects again gets the
 * state of the index. */
static bool next(struct stream *stream, struct kx_buffer *chunk,
                 uint64_t *flush_out)
{
    struct events *events = stream->state;
    struct service *service = stream->request->service;
    for (;;) {
        uint64_t seen = kx_news(service->store);
        enum outlook outlook = look(events, flush_out);
        if (outlook == GONE)
            add_gone(events, chunk);
        else if (outlook != SAME)
            add_event(events, outlook == SETTLED ? "settled" : "progress",
                      chunk);
        if (outlook == GONE || outlook == SETTLED ||
            atomic_load(&service->stopping))
            return false;
        if (outlook == CHANGED || add_silence(events, chunk))
            return true;
        if (*flush_out != 0 || index_wait_news(stream->request, seen,
                                               events->sent_ns + SILENCE_NS))
            return true;
    }
}

struct stream *index_events(struct request *request, struct kx_slice name)
{
    struct events *events = talloc_zero(request->memory, struct events);
    if (events == NULL)
        return NULL;
    events->stream =
        (struct stream){.next = next, .request = request, .state = events};
    events->name = name;
    events->sent_ns = kx_monotonic_ns();
    kx_buffer_init(&events->now, request->memory);
    return &events->stream;
}
