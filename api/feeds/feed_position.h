/* How far a client has followed an index of changes, as text: a versionstamp;
 * while it gets the index for the first time two, with a comma between them. It
 * is the id of an event, and what the client shows when it comes again. */
#ifndef API_FEED_POSITION_H
#define API_FEED_POSITION_H

#include "kindex.h"

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

#endif
