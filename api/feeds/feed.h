/* GET /watch?index=NAME: follows an index of changes (src/indexes/CHANGES.md).
 */
#ifndef API_FEED_H
#define API_FEED_H

#include "http/watch_wait.h"
#include "kindex.h"
#include "rest/query_params.h"

struct feed_position {
    uint64_t stamp; /* the changes of this commit and of all before it are
                     * known; 0: nothing is */
    uint64_t began; /* not 0: the client began without any entry after this
                     * commit, so it need not know of removals up to there */
};

/* Appends the text. */
void feed_position_write(const struct feed_position *position,
                         struct kx_buffer *out);
/* False for anything else. */
bool feed_position_read(struct kx_slice text,
                        struct feed_position *position_out);

/* May the index lack a removal that comes after the position? So also for a
 * position that no commit of this store has reached. */
bool feed_position_is_gone(const struct feed_position *position,
                           const struct kx_changes *changes);

/* Answers a watch whose query names an index. In a section. */
void feed_watch(struct request *request, struct reply *reply,
                const struct query_params *query);

#endif
