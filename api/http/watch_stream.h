/* A reply without an end that shows changes: server-sent events, or frames of
 * KV Connect. Each kind is a source; what is common to all of them is here:
 * the beginning of the stream, the wait for the next change, what is sent in a
 * long silence, and the end when access ends or the server stops. The loop's
 * thread or a worker's, as for each stream. */
#ifndef API_WATCH_STREAM_H
#define API_WATCH_STREAM_H

#include "http/request.h"

enum watch_step {
    WATCH_CURRENT, /* everything was read; wait if the chunk is empty */
    WATCH_MORE,    /* there may be more: ask again at once */
    WATCH_END      /* the chunk is the last one */
};

/* The first member of the state of each source, which lies in the request's
 * memory. */
struct watch_stream {
    struct stream stream;
    const struct watch_source *source;
    struct kx_watch *watch; /* of the rows, or NULL: a change of any index */
    uint64_t sent_ns; /* when the last chunk was made (monotonic clock); 0: the
                       * stream has not begun */
};

struct watch_source {
    const char *opening; /* begins the stream; NULL: nothing does */
    uint64_t silence_ns; /* time without a chunk until idle is called */
    /* False if the caller may no longer see all that is watched. NULL: read
     * skips what the caller may not see. */
    bool (*is_visible)(const struct watch_stream *live);
    /* Appends what has changed since the last call. Sets *flush_out as
     * stream.next does. */
    enum watch_step (*read)(struct watch_stream *live, struct kx_buffer *chunk,
                            uint64_t *flush_out);
    /* Appends what keeps proxies from closing the connection, and shows
     * whether the client is gone. */
    void (*idle)(struct watch_stream *live, struct kx_buffer *chunk);
    /* Frees buffers before a wait, which may last for hours. NULL: none. */
    void (*release)(struct watch_stream *live);
};

/* The opening of a stream of events: the pause before a browser reconnects,
 * which also shows that the watch has begun. */
extern const char WATCH_EVENTS_OPENING[];
/* A comment is sent after this time without an event. */
static const uint64_t WATCH_EVENTS_SILENCE_NS = 15ull * KX_SECOND_NS;
/* The `idle` of a stream of events: appends a comment. */
void watch_events_idle(struct watch_stream *live, struct kx_buffer *chunk);

/* Initializes the stream, except `watch`. The source must outlive it. */
void watch_stream_init(struct watch_stream *live,
                       const struct watch_source *source,
                       struct request *request);

/* Answers with the stream, as server-sent events. */
void watch_events_reply(struct watch_stream *live, struct reply *reply);

/* Makes the request wait for a change of an index after `seen` (from
 * kx_index_change_count), at most until until_ns (monotonic clock). Returns
 * false if there already is one. */
bool watch_wait_news(struct request *request, uint64_t seen, uint64_t until_ns);

/* Frees the buffer if it is large, so that a long wait does not keep it. */
void watch_release(struct kx_buffer *buffer);

#endif
