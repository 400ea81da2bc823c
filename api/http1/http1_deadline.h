/* Deadlines for the arrival of a request: of its head, then of its body. Each
 * thread has one list of its sockets for heads and one for bodies, earliest
 * deadline first. All functions belong to the thread that owns the socket. */
#ifndef API_HTTP1_DEADLINE_H
#define API_HTTP1_DEADLINE_H

#include <stdint.h>
#include <sys/queue.h>

/* The part of a request that is awaited. */
enum http1_part { HTTP1_NOTHING, HTTP1_HEAD, HTTP1_BODY };

/* The deadline of one socket. Zero-initialized, it waits for nothing. */
struct http1_deadline {
    TAILQ_ENTRY(http1_deadline) order;
    uint64_t at_ns;
    enum http1_part part;
};

/* Sets how many milliseconds each part may take. Call it once, before the first
 * socket. */
void http1_deadline_start(uint64_t head_ms, uint64_t body_ms);

/* Awaits this part from now on, for its whole time limit; HTTP1_NOTHING removes
 * the deadline. */
void http1_deadline_set(struct http1_deadline *deadline, enum http1_part part);

/* Returns the first deadline of this thread that has expired by now_ns, or
 * NULL. The deadline stays in its list until http1_deadline_set. */
struct http1_deadline *http1_deadline_expired(uint64_t now_ns);
/* Returns when this thread's next deadline expires (monotonic nanoseconds), or
 * 0 if none is set. */
uint64_t http1_deadline_next(void);

#endif
