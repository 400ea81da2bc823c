/* How a stream waits for a change of the keys that its client watches. */
#ifndef API_WATCH_WAIT_H
#define API_WATCH_WAIT_H

#include "http/request.h"

/* The request waits for the next change, or until the client must hear
 * something (monotonic clock, or a few hundredths of a second later). False
 * when there is a change already. */
bool watch_wait(struct request *request, struct kx_watch *watch,
                uint64_t until_ns);

/* Frees the buffer if it is large: through a long silence nothing is kept. */
void watch_wait_release(struct kx_buffer *buffer);

#endif
