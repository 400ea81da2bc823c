/* Waits for an index (Prefer: wait=N) and streams of its progress. */
#include "indexes/index_wait.h"

#include <stdatomic.h>
#include <talloc.h>

#include "access/access.h"
#include "http/accept.h"
#include "http/service.h"
#include "indexes/index_find.h"
#include "rest/indexjson.h"

struct wait_limit {
    unsigned seconds; /* 0: none */
    uint64_t until_ns;
};

/* True if the state cannot change without a write. A conflicted migration
 * counts: it resumes only after the conflicting entries have changed. */
static bool is_stable(const struct kx_index_info *info)
{
    enum kx_index_state state =
        info->state == KX_INDEX_MIGRATING ? info->migration : info->state;
    return state != KX_INDEX_BUILDING;
}

/* Makes the request wait for a change after `seen`, at most until until_ns.
 * Returns false if there already is one. */
static bool index_wait_news(struct request *request, uint64_t seen,
                            uint64_t until_ns)
{
    struct wait *wait = &request->wait;
    if (kx_news_wait(request->service->store, seen, &wait->ticket) != KX_OK)
        return false;
    wait->cancel = kx_news_cancel;
    wait->until_ns = until_ns;
    return true;
}

/* True if the request must not wait any longer: its time has passed, its token
 * is no longer valid, or the server stops. */
static bool has_ended(const struct request *request,
                      const struct wait_limit *limit)
{
    return limit->seconds == 0 || kx_monotonic_ns() >= limit->until_ns ||
           !access_holds(request) || atomic_load(&request->service->stopping);
}

/* The result of reading the index. */
struct index_look {
    struct kx_slice name;
    enum kx_index_state *state_out;
    bool last;  /* append the index even if its state is not stable */
    bool shown; /* the reply has the index */
};

static void look_at(struct request *request, struct reply *reply, void *arg)
{
    struct index_look *look = arg;
    struct kx_index_info info;
    kx_read_begin(request->reader);
    bool found = index_find(request, look->name, &info);
    bool settled = found && is_stable(&info);
    kx_read_end(request->reader);
    if (found && (settled || look->last))
        found = look->shown =
            index_append(request, reply, look->name, look->state_out);
    if (!found)
        index_missing(request, reply, look->name);
}

bool index_await(struct request *request, struct reply *reply,
                 struct kx_slice name, enum kx_index_state *state_out)
{
    struct index_look look = {.name = name, .state_out = state_out};
    struct wait_limit limit = {
        .seconds = prefer_wait(request_header(request, "Prefer"))};
    limit.until_ns = kx_monotonic_ns() + (uint64_t)limit.seconds * KX_SECOND_NS;
    for (;;) {
        uint64_t seen = kx_news(request->service->store);
        look.last = has_ended(request, &limit);
        if (!request_read(request, look_at, &look) || reply->status != 0)
            return false;
        if (look.shown)
            break;
        if (index_wait_news(request, seen, limit.until_ns) &&
            !request_wait(request))
            return false;
    }
    if (limit.seconds != 0)
        reply_headerf(request, reply, "Preference-Applied", "wait=%u",
                      limit.seconds);
    return true;
}

/* ---- Server-sent events ------------------------------------------------- */

/* The progress of one index, or of all that the caller may see (HTML standard,
 * "Server-sent events"). An event is made when the connection has room for it:
 * a slow client gets fewer events, and nothing is queued for it. */

/* A comment is sent after this time without an event: it keeps proxies from
 * closing the connection, and shows whether the client is gone. */
static const uint64_t SILENCE_NS = 15000000000;

/* Bytes after which a chunk gets no further events. */
enum { EVENTS_CHUNK = 32 * 1024 };

/* The properties whose change makes an event. Events also show speed and
 * remaining time, which change constantly. */
struct mark {
    uint64_t state;
    uint64_t paused;
    uint64_t done;
    uint64_t total;
    uint64_t skipped;
    uint64_t conflicts;
    uint64_t per_second_max;
};

/* An index as its last event showed it. */
struct index_shown {
    struct index_shown *next; /* in the order of names */
    struct kx_slice name;
    struct mark mark;
};

struct events {
    struct stream stream;
    struct kx_slice name;      /* empty: all indexes */
    struct index_shown *shown; /* NULL: no event was sent yet */
    uint64_t sent_ns;          /* when the last one was sent */
    bool ended;                /* the last event about `name` was sent */
};

/* A count that the caller may not see makes no event. */
static struct mark mark_of(const struct kx_index_info *info, bool counted)
{
    if (!counted)
        return (struct mark){.state = info->state,
                             .paused = info->paused,
                             .per_second_max = info->per_second_max};
    return (struct mark){.state = info->state,
                         .paused = info->paused,
                         .done = info->done,
                         .total = info->total,
                         .skipped = info->skipped,
                         .conflicts = info->conflicts,
                         .per_second_max = info->per_second_max};
}

static void begin_event(struct events *events, const char *type,
                        struct kx_buffer *chunk)
{
    kx_add_text(chunk, "event: ");
    kx_add_text(chunk, type);
    kx_add_text(chunk, "\ndata: ");
    events->sent_ns = kx_monotonic_ns();
}

static void add_index(struct events *events, const struct kx_index_info *info,
                      bool counted, struct kx_buffer *chunk)
{
    bool settled = is_stable(info);
    begin_event(events, settled ? "settled" : "progress", chunk);
    indexjson_write(info, counted, chunk);
    kx_add_text(chunk, "\n\n");
    events->ended = settled && events->name.size > 0;
}

/* An event says that the index was dropped, since the status was sent before.
 */
static void add_gone(struct events *events, struct kx_slice name,
                     struct kx_buffer *chunk)
{
    begin_event(events, "gone", chunk);
    kx_add_text(chunk, "{\"name\":");
    kx_json_escape(name, chunk);
    kx_add_text(chunk, "}\n\n");
    events->ended = events->name.size > 0;
}

static bool add_silence(struct events *events, struct kx_buffer *chunk)
{
    if (kx_monotonic_ns() - events->sent_ns < SILENCE_NS)
        return false;
    kx_add_text(chunk, ":\n\n");
    events->sent_ns = kx_monotonic_ns();
    return true;
}

/* ---- Changes ------------------------------------------------------------ */

/* Removes the shown indexes whose names come before this name (NULL: all): they
 * were dropped. Returns the place of the name in the list. */
static struct index_shown **end_before(struct events *events,
                                       struct index_shown **place,
                                       const struct kx_slice *name,
                                       struct kx_buffer *chunk)
{
    while (*place != NULL &&
           (name == NULL || kx_compare((*place)->name, *name) < 0)) {
        struct index_shown *gone = *place;
        add_gone(events, gone->name, chunk);
        *place = gone->next;
        talloc_free(gone);
    }
    return place;
}

/* Inserts an index with a mark that no index has. NULL without memory. */
static struct index_shown *
insert(struct events *events, struct index_shown **place, struct kx_slice name)
{
    struct index_shown *shown = talloc_zero(events, struct index_shown);
    uint8_t *bytes =
        shown != NULL ? talloc_memdup(shown, name.data, name.size) : NULL;
    if (bytes == NULL) {
        talloc_free(shown);
        return NULL;
    }
    shown->name = kx_slice(bytes, name.size);
    shown->mark.state = UINT64_MAX;
    shown->next = *place;
    *place = shown;
    return shown;
}

static struct index_shown **show(struct events *events,
                                 struct index_shown **place,
                                 const struct kx_index_info *info,
                                 struct kx_buffer *chunk)
{
    bool counted = access_counts_index(events->stream.request, info);
    struct mark mark = mark_of(info, counted);
    place = end_before(events, place, &info->name, chunk);
    struct index_shown *shown = *place;
    if (shown == NULL || !kx_equal(shown->name, info->name))
        shown = insert(events, place, info->name);
    if (shown == NULL) {
        chunk->failed = true;
        return place;
    }
    if (memcmp(&shown->mark, &mark, sizeof mark) != 0)
        add_index(events, info, counted, chunk);
    shown->mark = mark;
    return &shown->next;
}

static bool is_meant(const struct events *events,
                     const struct kx_index_info *info)
{
    const struct request *request = events->stream.request;
    return (events->name.size == 0 || kx_equal(info->name, events->name)) &&
           access_covers_index(request, request->route->scope, info);
}

/* Adds events for the indexes that differ from what was shown. Returns false if
 * the chunk is full; the remaining indexes still differ the next time. */
static bool look(struct events *events, struct kx_buffer *chunk,
                 uint64_t *flush_out)
{
    struct kx_reader *reader = events->stream.request->reader;
    struct index_shown **place = &events->shown;
    struct kx_index_info info;
    bool full = false;
    kx_read_begin(reader);
    for (size_t n = 0; !full && kx_index_at(reader, n, &info) == KX_OK; n++) {
        if (is_meant(events, &info))
            place = show(events, place, &info, chunk);
        full = chunk->size > EVENTS_CHUNK || chunk->failed;
    }
    *flush_out = kx_read_end(reader);
    if (!full)
        end_before(events, place, NULL, chunk);
    return !full;
}

/* ---- The stream --------------------------------------------------------- */

/* A stopping server sends no final event: a client that connects again gets the
 * state of the indexes. */
static bool next(struct stream *stream, struct kx_buffer *chunk,
                 uint64_t *flush_out)
{
    struct events *events = stream->state;
    struct service *service = stream->request->service;
    for (;;) {
        uint64_t seen = kx_news(service->store);
        bool whole = look(events, chunk, flush_out);
        if (whole && events->name.size > 0 && events->shown == NULL &&
            !events->ended)
            add_gone(events, events->name, chunk);
        if (events->ended || atomic_load(&service->stopping))
            return false;
        if (chunk->size > 0 || add_silence(events, chunk))
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
    events->stream = (struct stream){.next = next,
                                     .request = request,
                                     .state = events,
                                     .lasting = name.size == 0};
    events->name = name;
    events->sent_ns = kx_monotonic_ns();
    return &events->stream;
}
