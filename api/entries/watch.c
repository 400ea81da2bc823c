/* GET /watch?key=...&key=... or ?prefix=...: server-sent events, each with the
 * entries that have changed since the one before (watch_stream.c). For keys the
 * first event has all of them; for a client that sends what it has seen, only
 * those that differ from that. For a prefix the first event tells the client to
 * list it. With an index it follows that (feeds/feed.h). */
#include "entries/watch_stream.h"

#include <talloc.h>

#include "http/accept.h"
#include "access/access.h"
#include "entries/entry_handlers.h"
#include "rest/query_params.h"
#include "rest/core_refusal.h"
#include "entries/watch_event_id.h"
#include "http/service.h"
#include "entries/subkeys.h"
#include "feeds/feed.h"
#include "feeds/last_event.h"

/* ---- The request -------------------------------------------------------- */

static bool read_key(struct watch_stream *watch, struct query_params *query,
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

static bool read_all_keys(struct watch_stream *watch,
                          struct query_params *query, struct input_error *error)
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

static bool read_seen(struct watch_stream *watch,
                      const struct query_params *query,
                      struct input_error *error)
{
    struct last_event last;
    if (!last_event_read(watch->stream.request, query, PARAMETER_VERSIONSTAMPS,
                         &last, error))
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
    const char *accept = request->header(request, "Accept");
    if (accept_form(accept, MAKES_JSON | MAKES_EVENTS) != FORM_OTHER)
        return true;
    input_error_set(error, PROBLEM_NOT_ACCEPTABLE,
                    "A watch is not available as %s.", accept);
    input_error_offer(error, kx_text(accept), "text/event-stream");
    return false;
}

static bool read_prefix(struct watch_stream *watch,
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
                           TAKES_KEY | TAKES_MANY_KEYS | TAKES_VERSIONSTAMPS |
                               TAKES_PREFIX | TAKES_INDEX | TAKES_SINCE,
                           request->memory, query, error))
        return false;
    if (query_params_has(query, PARAMETER_INDEX) ||
        !query_params_has(query, PARAMETER_SINCE))
        return true;
    input_error_set(error, PROBLEM_BAD_PARAMETER,
                    "since is of a watch of an index: add index=NAME.");
    error->parameter = kx_text("since");
    return false;
}

/* What is watched, if it is no index. */
static bool read_watched(struct watch_stream *watch, struct query_params *query,
                         struct input_error *error)
{
    if (query_params_has(query, PARAMETER_PREFIX))
        return read_prefix(watch, query, error);
    return read_all_keys(watch, query, error) && read_seen(watch, query, error);
}

static bool may_watch(struct watch_stream *watch, struct reply *reply)
{
    struct request *request = watch->stream.request;
    if (watch->of_prefix)
        return selector_allowed(request, reply, SCOPE_WATCH, &watch->selector);
    return access_keys(request, reply, SCOPE_WATCH, watch->keys, watch->count);
}

/* A prefix of an index that cannot be read can be refused only before the reply
 * has begun. */
static void try_prefix(const struct watch_stream *watch, struct reply *reply)
{
    struct kx_reader *reader = watch->stream.request->reader;
    struct kx_fault fault = {.status = KX_OK};
    kx_read_begin(reader);
    fault.status = selector_scan(&watch->selector, reader, &fault);
    kx_read_end(reader);
    if (fault.status != KX_OK)
        core_refusal_key(watch->stream.request, reply, &fault, watch->prefix);
}

/* Sets the range below the only watched key, unless the client sends what it
 * has seen of that key. */
static void prepare_under(struct watch_stream *watch)
{
    struct request *request = watch->stream.request;
    if (watch->count != 1 || watch->stamps[0] != WATCH_EVENT_ID_NOTHING)
        return;
    watch->under = talloc_new(request->memory);
    if (!subkeys_range(request, watch->keys[0], watch->under,
                       &watch->under_range))
        TALLOC_FREE(watch->under);
}

/* The watch is open before the first event is read: no change gets lost. */
static enum kx_status open_watch(struct watch_stream *watch)
{
    struct request *request = watch->stream.request;
    struct kx_store *store = request->service->store;
    if (watch->of_prefix)
        return kx_watch_open_prefix(store, watch->prefix, true, request->memory,
                                    &watch->watch);
    return kx_watch_open(store, watch->keys, watch->count, request->memory,
                         &watch->watch);
}

static void begin(struct watch_stream *watch, struct reply *reply)
{
    if (open_watch(watch) != KX_OK) {
        reply->body.failed = true;
        return;
    }
    watch_reply(reply, &watch->stream);
}

static void watch_entries(struct request *request, struct reply *reply,
                          struct query_params *query)
{
    struct input_error error;
    struct watch_stream *watch =
        talloc_zero(request->memory, struct watch_stream);
    if (watch == NULL) {
        reply->body.failed = true;
        return;
    }
    kx_buffer_init(&watch->record, request->memory);
    kx_buffer_init(&watch->changed, request->memory);
    watch->stream = (struct stream){.next = watch_stream_next,
                                    .request = request,
                                    .state = watch,
                                    .lasting = true};
    if (!read_watched(watch, query, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    if (!may_watch(watch, reply))
        return;
    if (watch->of_prefix)
        try_prefix(watch, reply);
    else
        core_refusal_watched(request, reply, watch->keys, watch->count);
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
