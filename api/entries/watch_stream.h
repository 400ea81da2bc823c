/* What one client watches, and what it has seen: the state of the stream that
 * is the reply to GET /watch. */
#ifndef API_WATCH_STREAM_H
#define API_WATCH_STREAM_H

#include "http/watch_wait.h"
#include "rest/selector.h"

/* Lives in the request's memory. */
struct watch_stream {
    struct stream stream;
    struct kx_watch *watch;
    size_t count;
    struct kx_slice *keys;
    uint64_t *stamps; /* of what was seen; see watch_event_id.h */
    struct watch_silence silence;
    struct kx_buffer record;
    /* Of a watch of one key, until its first event: the keys under it. */
    void *under; /* memory of the range, or NULL */
    struct selector under_range;
    /* Of a watch of a prefix, which has only the keys of its next event: */
    bool of_prefix;
    bool lost; /* the client has to list the prefix */
    struct kx_slice prefix;
    struct selector selector; /* of the same keys */
    struct kx_buffer changed; /* the keys' bytes */
};

/* The stream's `next`: an event with the entries that have changed since the
 * one before, all in one view; of a prefix also an event that says that they
 * cannot be told any more. */
bool watch_stream_next(struct stream *stream, struct kx_buffer *chunk,
                       uint64_t *flush_out);

#endif
