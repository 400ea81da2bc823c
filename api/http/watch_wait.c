/* Parks streams in the core until a watched key changes. */
#include "http/watch_wait.h"

enum { WAITING_BUFFER_MAX = 512 /* bytes that each stream keeps */ };

/* Ends of waits are rounded up to a multiple of this, so that the loop wakes at
 * most fifty times a second for any number of streams. */
static const uint64_t TOGETHER_NS = 20000000;

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

void watch_wait_release(struct kx_buffer *buffer)
{
    if (buffer->capacity > WAITING_BUFFER_MAX)
        kx_buffer_free(buffer);
}
