/* Until when a request must have arrived: the head, then the body. The
 * deadlines of one thread's sockets are in one list for each of the two, the
 * earliest first. All functions belong to the thread that owns the socket. */
#ifndef API_HTTP1_DEADLINE_H
#define API_HTTP1_DEADLINE_H

#include <stdint.h>
#include <sys/queue.h>

/* What of a request is awaited. */
enum http1_part { HTTP1_NOTHING, HTTP1_HEAD, HTTP1_BODY };

/* Of one socket. Zeroed, it waits for nothing. */
struct http1_deadline {
    TAILQ_ENTRY(http1_deadline) order;
    uint64_t at_ns;
    enum http1_part part;
};

/* Before the first socket, once: how long each part may take. */
void http1_deadline_start(uint64_t head_ms, uint64_t body_ms);

/* From now on this part is awaited, for its whole time. */
void http1_deadline_set(struct http1_deadline *deadline, enum http1_part part);

/* The first deadline of this thread that has expired by now_ns; NULL: none. It
 * stays in its list until it is set. */
struct http1_deadline *http1_deadline_expired(uint64_t now_ns);
/* When the next deadline expires; 0: none is set. */
uint64_t http1_deadline_next(void);

#endif
