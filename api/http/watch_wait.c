/* Waits of watch streams for the store, and comments in long silences. */
#include "http/watch_wait.h"

enum { WAITING_BUFFER_MAX = 512 /* bytes that each stream keeps */ };

/* Waits end at multiples of this, so that the loop wakes at most fifty times a
 * second for any number of streams. */
static const uint64_t TOGETHER_NS = 20000000;

/* A comment is sent after this time without an event. */
static const uint64_t SILENCE_NS = 15000000000;

bool watch_wait(struct request *request, struct kx_watch *watch,
                uint64_t until_ns)
{
    struct wait *wait = &request->wait;
    if (kx_watch_wait(watch, &wait->ticket) != KX_OK)
        return false;
    wait->cancel = kx_watch_cancel;
    wait->until_ns = until_ns + TOGETHER_NS - until_ns % TOGETHER_NS;
    return true;
}

void watch_reply(struct reply *reply, struct stream *stream)
{
    reply->status = 200;
    reply->content_type = "text/event-stream";
    reply_header(reply, "Cache-Control", "no-store");
    reply_header(reply, "X-Accel-Buffering", "no");
    reply->stream = stream;
}

uint64_t watch_silence_end(const struct watch_silence *silence)
{
    return silence->sent_ns + SILENCE_NS;
}

bool watch_silence_due(const struct watch_silence *silence)
{
    return kx_monotonic_ns() >= watch_silence_end(silence);
}

/* The stream begins with the pause before a browser reconnects, which also
 * shows that the watch has begun. */
bool watch_silence_add(struct watch_silence *silence, struct kx_buffer *chunk)
{
    if (silence->begun && !watch_silence_due(silence))
        return false;
    kx_add_text(chunk, silence->begun ? ":\n\n" : "retry: 2000\n\n");
    silence->begun = true;
    silence->sent_ns = kx_monotonic_ns();
    return true;
}

void watch_wait_release(struct kx_buffer *buffer)
{
    if (buffer->capacity > WAITING_BUFFER_MAX)
        kx_buffer_free(buffer);
}
