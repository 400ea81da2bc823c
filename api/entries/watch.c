/* GET /watch?key=...&key=... or ?prefix=...: server-sent events, each with the
 * entries that have changed since the previous event. For keys the first event
 * has all entries or, if the client sends the id of its last event, those that
 * have changed since. For a prefix the first event tells the client to list it.
 * With ?index= the watch follows an index (feeds/feed.h).
 *
 * An event is made when the client has room for it, from the entries as they
 * are then: a slow client gets fewer events, and nothing is queued for it. */
#include "entries/watch.h"

#include <talloc.h>

#include "access/access.h"
#include "entries/entry_handlers.h"
#include "entries/explain.h"
#include "entries/kv.h"
#include "feeds/feed.h"
#include "feeds/last_event.h"
#include "http/accept.h"
#include "http/problem.h"
#include "http/service.h"
#include "http/watch_stream.h"
#include "rest/refusal.h"
#include "rest/entryjson.h"
#include "rest/query_params.h"
#include "rest/selector.h"

/* ---- Ids of events ------------------------------------------------------ */

void watch_event_id_write(const uint64_t *stamps, size_t count,
                          struct kx_buffer *out)
{
    char text[KX_STAMP_DIGITS];
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            kx_add_byte(out, ',');
        if (stamps[i] == 0 || stamps[i] == WATCH_EVENT_ID_NOTHING) {
            kx_add_byte(out, '-');
            continue;
        }
        kx_stamp_text(stamps[i], text);
        kx_add(out, text, sizeof text);
    }
}

static bool read_one(struct kx_slice text, uint64_t *stamp_out)
{
    if (kx_equal(text, kx_text("-"))) {
        *stamp_out = 0;
        return true;
    }
    return kx_stamp_parse(text, stamp_out);
}

bool watch_event_id_read(struct kx_slice text, uint64_t *stamps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *comma =
            text.size > 0 ? memchr(text.data, ',', text.size) : NULL;
        bool last = i + 1 == count;
        if (last != (comma == NULL))
            return false;
        size_t size = last ? text.size : (size_t)(comma - text.data);
        if (!read_one(kx_slice(text.data, size), &stamps[i]))
            return false;
        if (!last)
            text = kx_slice(comma + 1, text.size - size - 1);
    }
    return true;
}

/* ---- The stream --------------------------------------------------------- */

/* The keys that one client watches, and the state of each that it has seen: the
 * state of the reply's stream. Lies in the request's memory. */
struct key_watch {
    struct watch_stream live;
    size_t count;
    struct kx_slice *keys;
    uint64_t *stamps; /* of the entries as the client has seen them; see watch.h
                       */
    struct kx_buffer record;
    /* In a watch of one key, until its first event: the keys under that key. */
    void *under; /* memory of the range, or NULL */
    struct selector under_range;
    /* For a watch of a prefix, whose `keys` are those of its next event: */
    bool of_prefix;
    bool lost; /* changes were lost: the client must list the prefix */
    struct kx_slice prefix;
    struct selector selector; /* the keys under the prefix */
    struct kx_buffer changed; /* bytes of `keys` */
};

/* The limit of an event. A client with larger events must watch fewer keys; a
 * client that watches a prefix is told to list it. */
enum { EVENT_BYTES_MAX = 16 << 20 };

/* An event while it is written. */
struct event {
    struct kx_buffer *out;
    size_t changed; /* entries in it */
    struct kx_fault fault;
};

/* If the key has no entry but entries under it, the first event has the path
 * that lists them. */
static void add_absent(struct key_watch *watch, size_t i, struct event *event)
{
    struct kx_buffer *out = event->out;
    entryjson_write_absent(watch->keys[i], out);
    if (watch->under == NULL || out->failed ||
        !subkeys_exist(watch->live.stream.request->reader, &watch->under_range))
        return;
    out->size--;
    kx_add_text(out, ",\"listedAt\":\"");
    explain_request_prefix(watch->keys[i], out);
    kx_add_text(out, "\"}");
}

/* Skips a key of an index that is not ready: when the index becomes ready, the
 * watch reports the key. */
static enum kx_status add_key(struct key_watch *watch, size_t i,
                              struct event *event)
{
    struct kx_entry entry = {.stamp = 0};
    enum kx_status status =
        kx_read(watch->live.stream.request->reader, watch->keys[i],
                &watch->record, &entry, &event->fault);
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

/* The status was sent before, so the error is an event. */
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

/* Reads all keys in one view. Only changed entries need to be on disk before
 * the event is sent. */
static void read_keys(struct key_watch *watch, struct event *event,
                      uint64_t *flush_out)
{
    struct kx_reader *reader = watch->live.stream.request->reader;
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

static void add_reset(struct key_watch *watch, struct kx_buffer *chunk)
{
    watch->lost = false;
    kx_add_text(chunk, "event: reset\ndata: {}\n\n");
}

/* Appends an event if an entry has changed. Returns false if the event is the
 * last, because the entries cannot be read. */
static bool add_event(struct key_watch *watch, struct kx_buffer *chunk,
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
    return true;
}

/* ---- Changes under a prefix --------------------------------------------- */

static void forget_keys(struct key_watch *watch)
{
    TALLOC_FREE(watch->keys);
    TALLOC_FREE(watch->stamps);
    watch->count = 0;
    watch_release(&watch->changed);
}

/* Takes the keys that have changed for the next event. Without memory for them
 * the client must list the prefix. */
static void collect(struct key_watch *watch)
{
    const void *memory = watch->live.stream.request->memory;
    struct kx_slice *keys =
        talloc_array(memory, struct kx_slice, KX_WATCH_CHANGES_MAX);
    uint64_t *stamps = talloc_array(memory, uint64_t, KX_WATCH_CHANGES_MAX);
    watch->keys = keys;
    watch->stamps = stamps;
    if (keys == NULL || stamps == NULL ||
        !kx_watch_take(watch->live.watch, keys, &watch->count, &watch->changed))
        watch->lost = true;
    for (size_t i = 0; i < watch->count; i++)
        stamps[i] = WATCH_EVENT_ID_NOTHING;
}

static bool add_changes(struct key_watch *watch, struct kx_buffer *chunk,
                        uint64_t *flush_out)
{
    collect(watch);
    if (watch->lost)
        add_reset(watch, chunk);
    bool goes_on = watch->count == 0 || add_event(watch, chunk, flush_out);
    forget_keys(watch);
    return goes_on;
}

/* ---- Chunks ------------------------------------------------------------- */

static bool is_visible(const struct watch_stream *live)
{
    const struct key_watch *watch = live->stream.state;
    if (watch->of_prefix)
        return selector_visible(live->stream.request, SCOPE_WATCH,
                                &watch->selector);
    return access_sees_all(live->stream.request, SCOPE_WATCH, watch->keys,
                           watch->count);
}

static enum watch_step read_event(struct watch_stream *live,
                                  struct kx_buffer *chunk, uint64_t *flush_out)
{
    struct key_watch *watch = live->stream.state;
    bool goes_on = watch->of_prefix ? add_changes(watch, chunk, flush_out)
                                    : add_event(watch, chunk, flush_out);
    return goes_on ? WATCH_CURRENT : WATCH_END;
}

static void release(struct watch_stream *live)
{
    struct key_watch *watch = live->stream.state;
    watch_release(&watch->record);
}

static const struct watch_source KEY_SOURCE = {.opening = WATCH_EVENTS_OPENING,
                                               .silence_ns =
                                                   WATCH_EVENTS_SILENCE_NS,
                                               .is_visible = is_visible,
                                               .read = read_event,
                                               .idle = watch_events_idle,
                                               .release = release};

/* ---- The request -------------------------------------------------------- */

static bool read_key(struct key_watch *watch, struct query_params *query,
                     size_t i, struct input_error *error)
{
    struct kx_buffer key;
    struct kx_fault fault = {.status = KX_OK};
    kx_buffer_init(&key, query->memory);
    query->raw[PARAMETER_KEY] = query->keys[i];
    if (!query_params_key(query, PARAMETER_KEY, &key, error))
        return false;
    watch->keys[i] = kx_buffer_slice(&key);
    watch->stamps[i] = WATCH_EVENT_ID_NOTHING;
    fault.status = kx_key_check(watch->keys[i], &fault);
    if (fault.status == KX_OK)
        return true;
    input_error_fault(error, &fault);
    error->parameter = kx_text("key");
    return false;
}

static bool read_all_keys(struct key_watch *watch, struct query_params *query,
                          struct input_error *error)
{
    size_t count = query->key_count;
    watch->count = count;
    if (count < 1 || count > KX_WATCH_KEYS_MAX) {
        input_error_set(
            error, PROBLEM_BAD_PARAMETER,
            "There are %zu keys; a watch has 1 to %d (key=...&key=...), or "
            "one prefix (prefix=...).",
            count, KX_WATCH_KEYS_MAX);
        error->parameter = kx_text("key");
        return false;
    }
    watch->keys = talloc_array(query->memory, struct kx_slice, count);
    watch->stamps = talloc_array(query->memory, uint64_t, count);
    if (watch->keys == NULL || watch->stamps == NULL)
        return input_error_no_memory(error);
    for (size_t i = 0; i < count; i++)
        if (!read_key(watch, query, i, error))
            return false;
    return true;
}

static bool read_seen(struct key_watch *watch, const struct query_params *query,
                      struct input_error *error)
{
    struct last_event last;
    if (!last_event_read(watch->live.stream.request, query,
                         PARAMETER_VERSIONSTAMPS, &last, error))
        return false;
    if (!last.given || watch_event_id_read(kx_buffer_slice(&last.text),
                                           watch->stamps, watch->count))
        return true;
    input_error_set(error, PROBLEM_BAD_PARAMETER,
                    "versionstamps or Last-Event-ID must be the id of an event "
                    "for the same %zu keys: a versionstamp or '-' for each "
                    "key, separated by commas.",
                    watch->count);
    error->parameter = kx_text("versionstamps");
    return false;
}

static bool acceptable(const struct request *request, struct input_error *error)
{
    const char *accept = request_header(request, "Accept");
    if (accept == NULL ||
        accept_form(accept, MAKES_JSON | MAKES_EVENTS) != FORM_OTHER)
        return true;
    input_error_set(error, PROBLEM_NOT_ACCEPTABLE,
                    "A watch is not available as %s.", accept);
    input_error_offer(error, kx_text(accept), "text/event-stream");
    return false;
}

static bool read_prefix(struct key_watch *watch,
                        const struct query_params *query,
                        struct input_error *error)
{
    struct selection selection;
    if (query->key_count > 0 ||
        query_params_has(query, PARAMETER_VERSIONSTAMPS)) {
        input_error_set(
            error, PROBLEM_BAD_PARAMETER,
            "A watch of a prefix has neither keys nor versionstamps.");
        error->parameter = kx_text("prefix");
        return false;
    }
    selection_init(&selection, query->memory);
    watch->of_prefix = watch->lost = true;
    if (!selection_read(query, &selection, error) ||
        !selector_make(&selection, query->memory, &watch->selector, error))
        return false;
    watch->prefix = kx_buffer_slice(&selection.prefix);
    return true;
}

static bool read_query(struct request *request, struct query_params *query,
                       struct input_error *error)
{
    if (!acceptable(request, error) ||
        !query_params_read(request->query,
                           TAKES_KEY | TAKES_VERSIONSTAMPS | TAKES_PREFIX |
                               TAKES_INDEX | TAKES_SINCE,
                           request->memory, query, error))
        return false;
    if (query_params_has(query, PARAMETER_INDEX) ||
        !query_params_has(query, PARAMETER_SINCE))
        return true;
    input_error_set(error, PROBLEM_BAD_PARAMETER,
                    "since needs an index to watch: add index=NAME.");
    error->parameter = kx_text("since");
    return false;
}

/* Reads the keys, or the prefix. */
static bool read_watched(struct key_watch *watch, struct query_params *query,
                         struct input_error *error)
{
    if (query_params_has(query, PARAMETER_PREFIX))
        return read_prefix(watch, query, error);
    return read_all_keys(watch, query, error) && read_seen(watch, query, error);
}

static bool may_watch(struct key_watch *watch, struct reply *reply)
{
    struct request *request = watch->live.stream.request;
    if (watch->of_prefix)
        return selector_allowed(request, reply, SCOPE_WATCH, &watch->selector);
    return access_keys(request, reply, SCOPE_WATCH, watch->keys, watch->count);
}

/* Tries to scan the prefix, since entries of an index that is not ready can be
 * refused only before the reply begins. */
static void try_prefix(const struct key_watch *watch, struct reply *reply)
{
    struct kx_reader *reader = watch->live.stream.request->reader;
    struct kx_fault fault = {.status = KX_OK};
    kx_read_begin(reader);
    fault.status = selector_scan(&watch->selector, reader, &fault);
    kx_read_end(reader);
    if (fault.status != KX_OK)
        refuse_key(watch->live.stream.request, reply, &fault, watch->prefix);
}

/* Sets the range under the only watched key, unless the client has seen its
 * entry before. */
static void prepare_under(struct key_watch *watch)
{
    struct request *request = watch->live.stream.request;
    if (watch->count != 1 || watch->stamps[0] != WATCH_EVENT_ID_NOTHING)
        return;
    watch->under = talloc_new(request->memory);
    if (!subkeys_range(request, watch->keys[0], watch->under,
                       &watch->under_range))
        TALLOC_FREE(watch->under);
}

/* The watch is opened before the first event is read, so that no change is
 * lost. */
static enum kx_status open_watch(struct key_watch *watch)
{
    struct request *request = watch->live.stream.request;
    struct kx_store *store = request->service->store;
    if (watch->of_prefix)
        return kx_watch_open_prefix(store, watch->prefix, KX_WATCH_KEYS,
                                    request->memory, &watch->live.watch);
    return kx_watch_open(store, watch->keys, watch->count, request->memory,
                         &watch->live.watch);
}

static void begin(struct key_watch *watch, struct reply *reply)
{
    if (open_watch(watch) != KX_OK) {
        reply->body.failed = true;
        return;
    }
    watch_events_reply(&watch->live, reply);
}

static void watch_entries(struct request *request, struct reply *reply,
                          struct query_params *query)
{
    struct input_error error;
    struct key_watch *watch = talloc_zero(request->memory, struct key_watch);
    if (watch == NULL) {
        reply->body.failed = true;
        return;
    }
    kx_buffer_init(&watch->record, request->memory);
    kx_buffer_init(&watch->changed, request->memory);
    watch_stream_init(&watch->live, &KEY_SOURCE, request);
    if (!read_watched(watch, query, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    if (!may_watch(watch, reply))
        return;
    if (watch->of_prefix)
        try_prefix(watch, reply);
    else
        refuse_watched(request, reply, watch->keys, watch->count);
    if (reply->status != 0)
        return;
    if (!watch->of_prefix)
        prepare_under(watch);
    begin(watch, reply);
}

static void begin_watch(struct request *request, struct reply *reply, void *arg)
{
    (void)arg;
    struct input_error error;
    struct query_params query;
    if (!read_query(request, &query, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    if (query_params_has(&query, PARAMETER_INDEX))
        feed_watch(request, reply, &query);
    else
        watch_entries(request, reply, &query);
}

void watch_get(struct request *request, struct reply *reply)
{
    (void)reply;
    request_read(request, begin_watch, NULL);
}
