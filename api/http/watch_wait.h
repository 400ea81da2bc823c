/* What the streams of watches share: their beginning, the wait for a change of
 * watched keys, and the comments sent meanwhile. The loop's thread. */
#ifndef API_WATCH_WAIT_H
#define API_WATCH_WAIT_H

#include "http/request.h"

/* Makes the request wait for the next change, or until until_ns (monotonic
 * clock), rounded up by at most 20 ms. Returns false if there is a change
 * already. */
bool watch_wait(struct request *request, struct kx_watch *watch,
                uint64_t until_ns);

/* Makes the reply a stream of server-sent events. */
void watch_reply(struct reply *reply, struct stream *stream);

/* How long a stream of events has been silent. */
struct watch_silence {
    bool begun;
    uint64_t sent_ns; /* when the last event was made (monotonic clock) */
};

/* True if a comment is due after a long silence: it keeps proxies from closing
 * the connection, and shows whether the client is gone. */
bool watch_silence_due(const struct watch_silence *silence);
/* Returns when the next comment is due (monotonic clock). */
uint64_t watch_silence_end(const struct watch_silence *silence);
/* Appends the beginning of the stream, or a comment if one is due, and returns
 * whether it did. */
bool watch_silence_add(struct watch_silence *silence, struct kx_buffer *chunk);

/* Frees the buffer if it is large, so that a long wait does not keep it. */
void watch_wait_release(struct kx_buffer *buffer);

#endif
