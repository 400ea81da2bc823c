/* The wait of a stream for a change of the keys that its client watches. The
 * loop's thread. */
#ifndef API_WATCH_WAIT_H
#define API_WATCH_WAIT_H

#include "http/request.h"

/* Makes the request wait for the next change, or until until_ns (monotonic
 * clock), rounded up by a few hundredths of a second. False when there is a
 * change already. */
bool watch_wait(struct request *request, struct kx_watch *watch,
                uint64_t until_ns);

/* Frees the buffer if it is large, so that a long wait does not keep it. */
void watch_wait_release(struct kx_buffer *buffer);

#endif
