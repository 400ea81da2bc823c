/* Streams of changes: their beginning, their waits and their silences. */
#include "http/watch_stream.h"

#include <stdatomic.h>

#include "http/service.h"

enum { WAITING_BUFFER_MAX = 512 /* bytes that each stream keeps */ };

/* Waits end at multiples of this, so that the loop wakes at most fifty times a
 * second for any number of streams. */
static const uint64_t TOGETHER_NS = 20 * KX_MS_NS;

const char WATCH_EVENTS_OPENING[] = "retry: 2000\n\n";

void watch_events_idle(struct watch_stream *live, struct kx_buffer *chunk)
{
    (void)live;
    kx_add_text(chunk, ":\n\n");
}

bool watch_wait_news(struct request *request, uint64_t seen, uint64_t until_ns)
{
    struct wait *wait = &request->wait;
    if (kx_index_change_wait(request->service->store, seen, &wait->ticket) !=
        KX_OK)
        return false;
    wait->cancel = kx_index_change_cancel;
    wait->until_ns = until_ns;
    return true;
}

static bool wait_rows(struct request *request, struct kx_watch *watch,
                      uint64_t until_ns)
{
    struct wait *wait = &request->wait;
    if (kx_watch_wait(watch, &wait->ticket) != KX_OK)
        return false;
    wait->cancel = kx_watch_cancel;
    wait->until_ns = until_ns;
    return true;
}

/* Makes the request wait for the next change or for the end of the silence.
 * Returns false if there is a change already. */
static bool wait_change(struct watch_stream *live, uint64_t seen)
{
    struct request *request = live->stream.request;
    uint64_t until_ns = live->sent_ns + live->source->silence_ns;
    until_ns += TOGETHER_NS - until_ns % TOGETHER_NS;
    return live->watch != NULL ? wait_rows(request, live->watch, until_ns)
                               : watch_wait_news(request, seen, until_ns);
}

static bool may_go_on(const struct watch_stream *live)
{
    const struct watch_source *source = live->source;
    return !atomic_load(&live->stream.request->service->stopping) &&
           (source->is_visible == NULL || source->is_visible(live));
}

static void begin(struct watch_stream *live, struct kx_buffer *chunk)
{
    if (live->source->opening != NULL)
        kx_add_text(chunk, live->source->opening);
    live->sent_ns = kx_monotonic_ns();
}

/* Appends what the source has, or its sign of life in a long silence. */
static enum watch_step add_step(struct watch_stream *live,
                                struct kx_buffer *chunk, uint64_t *flush_out)
{
    const struct watch_source *source = live->source;
    if (live->sent_ns == 0)
        begin(live, chunk);
    enum watch_step step = source->read(live, chunk, flush_out);
    bool silent = step == WATCH_CURRENT && chunk->size == 0;
    uint64_t now_ns = kx_monotonic_ns();
    if (silent && now_ns - live->sent_ns >= source->silence_ns)
        source->idle(live, chunk);
    if (chunk->size > 0)
        live->sent_ns = now_ns;
    return step;
}

/* The stream's `next`. When the server stops, the reply ends and the client
 * connects again. */
static bool next(struct stream *stream, struct kx_buffer *chunk,
                 uint64_t *flush_out)
{
    struct watch_stream *live = stream->state;
    uint64_t seen;
    do {
        if (!may_go_on(live))
            return false;
        seen = kx_index_change_count(stream->request->service->store);
        enum watch_step step = add_step(live, chunk, flush_out);
        if (step != WATCH_CURRENT || chunk->size > 0 || chunk->failed)
            return step != WATCH_END;
    } while (!wait_change(live, seen));
    watch_release(chunk);
    if (live->source->release != NULL)
        live->source->release(live);
    return true;
}

void watch_stream_init(struct watch_stream *live,
                       const struct watch_source *source,
                       struct request *request)
{
    *live = (struct watch_stream){.stream = {.next = next,
                                             .request = request,
                                             .state = live,
                                             .lasting = true},
                                  .source = source};
}

void watch_events_reply(struct watch_stream *live, struct reply *reply)
{
    reply->status = 200;
    reply->content_type = "text/event-stream";
    reply_header(reply, "Cache-Control", "no-store");
    reply_header(reply, "X-Accel-Buffering", "no");
    reply->stream = &live->stream;
}

void watch_release(struct kx_buffer *buffer)
{
    if (buffer->capacity > WAITING_BUFFER_MAX)
        kx_buffer_free(buffer);
}
