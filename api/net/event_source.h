/* A descriptor that an event loop watches with epoll. It is the first member of
 * the struct that owns the descriptor. */
#ifndef API_EVENT_SOURCE_H
#define API_EVENT_SOURCE_H

struct event_source {
    /* Called on the loop's thread when the descriptor is ready. */
    void (*ready)(struct event_source *source);
    int fd;
};

#endif
