/* What one client follows, and how far: the state of the stream that is the
 * reply to GET /watch?index=NAME. */
#ifndef API_FEED_STREAM_H
#define API_FEED_STREAM_H

#include "feeds/feed_position.h"
#include "http/watch_wait.h"

/* The event that is being written. It may continue in the next chunk. */
struct feed_event {
    bool open;
    uint64_t stamp; /* of its commit */
    size_t entries;
    size_t bytes;
};

/* Lives in the request's memory, as all that it points to. */
struct feed_stream {
    struct stream stream;
    struct kx_watch *watch;
    struct watch_silence silence;
    struct kx_slice index; /* its name */
    struct kx_slice group; /* encoded: the fields before the versionstamp */
    struct kx_slice list;  /* the address that lists the entries */
    /* What was read, which may be more than has an id, since the client need
     * not be told of commits that do not concern it. */
    struct feed_position read;
    uint64_t sent;   /* stamp of the last id, or where the client began */
    uint64_t stored; /* all commits up to this one are read, and on disk */
    bool current;    /* the client was told that it has all */
    struct feed_event event;
    struct kx_buffer start; /* bounds of what is left to read, without the */
    struct kx_buffer end;   /* name */
    struct kx_buffer after; /* where the last slice ended, or empty */
};

/* Sets where a new stream begins. False when memory ran out. */
bool feed_stream_begin(struct feed_stream *feed,
                       const struct feed_position *position);

/* The stream's `next`: events with the entries after the position, in order;
 * then, as they come, those of later commits. */
bool feed_stream_next(struct stream *stream, struct kx_buffer *chunk,
                      uint64_t *flush_out);

/* Says why the index cannot be followed from a position that is gone. */
void feed_stream_gone(const struct feed_position *position,
                      const struct kx_changes *changes, char *out, size_t size);

#endif
