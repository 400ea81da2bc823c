/* GET /watch?index=NAME: follows an index of changes (src/indexes/CHANGES.md).
 *
 * A position says how far a client has followed the index. Its text is a
 * versionstamp, or while the client gets the index for the first time two,
 * separated by a comma. It is the id of an event, which the client sends when
 * it reconnects. */
#ifndef API_FEED_H
#define API_FEED_H

#include "http/watch_stream.h"
#include "kindex.h"
#include "rest/query_params.h"

struct feed_position {
    uint64_t
        stamp; /* the client knows the changes up to this commit; 0: none */
    uint64_t began; /* not 0: the client began empty after this commit, so it
                     * does not need the removals before it */
};

/* Appends the text of the position. */
void feed_position_write(const struct feed_position *position,
                         struct kx_buffer *out);
/* Reads the text of a position. Returns false if it is not one. */
bool feed_position_read(struct kx_slice text,
                        struct feed_position *position_out);

/* True if the index may lack a removal after the position, or no commit of this
 * store has reached the position. */
bool feed_position_is_gone(const struct feed_position *position,
                           const struct kx_changes *changes);

/* Answers a watch whose query names an index. In a section. */
void feed_watch(struct request *request, struct reply *reply,
                const struct query_params *query);

#endif
