/* Something an event loop watches with epoll: the first member of whatever
 * belongs to the descriptor. */
#ifndef API_SOURCE_H
#define API_SOURCE_H

struct event_source {
    /* Called on the loop's thread when the descriptor is ready. */
    void (*ready)(struct event_source *source);
    int fd;
};

#endif
