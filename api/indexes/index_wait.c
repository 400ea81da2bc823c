/* Waits for an index (Prefer: wait=N) and streams of its progress. */
#include "indexes/index_wait.h"

#include <stdatomic.h>
#include <talloc.h>

#include "access/access.h"
#include "http/accept.h"
#include "http/service.h"
#include "http/watch_stream.h"
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
        uint64_t seen = kx_index_change_count(request->service->store);
        look.last = has_ended(request, &limit);
        if (!request_read(request, look_at, &look) || reply->status != 0)
            return false;
        if (look.shown)
            break;
        if (watch_wait_news(request, seen, limit.until_ns) &&
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
    struct watch_stream live;
    struct kx_slice name;      /* empty: all indexes */
    struct index_shown *shown; /* NULL: no event was sent yet */
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

static void begin_event(const char *type, struct kx_buffer *chunk)
{
    kx_add_text(chunk, "event: ");
    kx_add_text(chunk, type);
    kx_add_text(chunk, "\ndata: ");
}

static void add_index(struct events *events, const struct kx_index_info *info,
                      bool counted, struct kx_buffer *chunk)
{
    bool settled = is_stable(info);
    begin_event(settled ? "settled" : "progress", chunk);
    indexjson_write(info, counted, chunk);
    kx_add_text(chunk, "\n\n");
    events->ended = settled && events->name.size > 0;
}

/* An event says that the index was dropped, since the status was sent before.
 */
static void add_gone(struct events *events, struct kx_slice name,
                     struct kx_buffer *chunk)
{
    begin_event("gone", chunk);
    kx_add_text(chunk, "{\"name\":");
    kx_json_escape(name, chunk);
    kx_add_text(chunk, "}\n\n");
    events->ended = events->name.size > 0;
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
    if (shown == NULL || !kx_slice_copy(shown, name, &shown->name)) {
        talloc_free(shown);
        return NULL;
    }
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
    bool counted = access_counts_index(events->live.stream.request, info);
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
    const struct request *request = events->live.stream.request;
    return (events->name.size == 0 || kx_equal(info->name, events->name)) &&
           access_covers_index(request, request->route->scope, info);
}

/* Removes the shown indexes from `place` on. If the only watched index was
 * never shown it is gone, too. */
static void end_all(struct events *events, struct index_shown **place,
                    struct kx_buffer *chunk)
{
    end_before(events, place, NULL, chunk);
    if (events->name.size > 0 && events->shown == NULL && !events->ended)
        add_gone(events, events->name, chunk);
}

/* The source's `read`: events for the indexes that differ from what was shown.
 * WATCH_MORE if the chunk is full, since the remaining indexes still differ the
 * next time, or if what was read is not on disk yet. */
static enum watch_step look(struct watch_stream *live, struct kx_buffer *chunk,
                            uint64_t *flush_out)
{
    struct events *events = live->stream.state;
    struct kx_reader *reader = live->stream.request->reader;
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
        end_all(events, place, chunk);
    if (events->ended)
        return WATCH_END;
    return full || *flush_out != 0 ? WATCH_MORE : WATCH_CURRENT;
}

static const struct watch_source EVENTS_SOURCE = {.silence_ns =
                                                      WATCH_EVENTS_SILENCE_NS,
                                                  .read = look,
                                                  .idle = watch_events_idle};

struct stream *index_events(struct request *request, struct kx_slice name)
{
    struct events *events = talloc_zero(request->memory, struct events);
    if (events == NULL)
        return NULL;
    watch_stream_init(&events->live, &EVENTS_SOURCE, request);
    events->live.stream.lasting = name.size == 0;
    events->name = name;
    return &events->live.stream;
}
