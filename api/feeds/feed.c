/* The request of a watch of an index of changes: what it follows, and from
 * where. */
#include "feeds/feed.h"

#include <talloc.h>

#include "access/access.h"
#include "feeds/feed_stream.h"
#include "feeds/last_event.h"
#include "http/service.h"
#include "rest/refusal.h"

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

/* *given_out: the client says where to begin. */
static bool read_position(struct feed_stream *feed,
                          const struct query_params *query, bool *given_out,
                          struct input_error *error)
{
    struct last_event last;
    if (!last_event_read(feed->stream.request, query, PARAMETER_SINCE, &last,
                         error))
        return false;
    *given_out = last.given;
    if (!last.given ||
        feed_position_read(kx_buffer_slice(&last.text), &feed->read))
        return true;
    return bad(error, "since",
               "since or Last-Event-ID must be the id of an event of such a "
               "watch, or a versionstamp: 20 hexadecimal digits.");
}

/* The parameters as the client wrote them. */
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

/* Texts become what the index has for them. */
static bool fold(struct feed_stream *feed, struct input_error *error)
{
    const struct request *request = feed->stream.request;
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

/* What the view says of the request. */
struct feed_look {
    struct kx_fault fault;
    struct kx_changes changes;
    struct input_error error;
    bool fits;
};

static void look(struct feed_stream *feed, struct feed_look *look_out)
{
    struct kx_reader *reader = feed->stream.request->reader;
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
    input_error_reply(feed->stream.request, reply, &error);
}

static void gone(struct feed_stream *feed, struct reply *reply,
                 const struct kx_changes *changes)
{
    char detail[KX_DETAIL_MAX];
    feed_stream_gone(&feed->read, changes, detail, sizeof detail);
    problem(feed->stream.request, reply, PROBLEM_HISTORY_GONE, "%s", detail);
    problem_member_text(reply, "listedAt", feed->list);
}

/* The changes of the group lie under the index's name and the group. */
static enum kx_status open_watch(struct feed_stream *feed,
                                 struct kx_buffer *prefix)
{
    struct request *request = feed->stream.request;
    kx_key_add_string(prefix, feed->index);
    kx_add_slice(prefix, feed->group);
    if (prefix->failed)
        return KX_NO_MEMORY;
    if (prefix->size > KX_KEY_MAX)
        return KX_KEY_TOO_LONG;
    return kx_watch_open_prefix(request->service->store,
                                kx_buffer_slice(prefix), false, request->memory,
                                &feed->watch);
}

/* Without a position it begins before everything: the client need not know of
 * removals until now. */
static void begin(struct feed_stream *feed, struct reply *reply,
                  const struct kx_changes *changes, bool given)
{
    struct kx_fault fault = {.status = KX_OK};
    struct kx_buffer prefix;
    if (!given)
        feed->read.began = changes->stored > changes->history
                               ? changes->stored
                               : changes->history;
    kx_buffer_init(&prefix, feed->stream.request->memory);
    fault.status = open_watch(feed, &prefix);
    if (fault.status == KX_KEY_TOO_LONG) {
        problem_status(feed->stream.request, reply, &fault);
        return;
    }
    const struct feed_position position = feed->read;
    if (fault.status != KX_OK || !feed_stream_begin(feed, &position))
        reply->body.failed = true;
    else
        watch_reply(reply, &feed->stream);
}

static void follow(struct feed_stream *feed, struct reply *reply, bool given)
{
    struct request *request = feed->stream.request;
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
    feed->stream = (struct stream){.next = feed_stream_next,
                                   .request = request,
                                   .state = feed,
                                   .lasting = true};
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
