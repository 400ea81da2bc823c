/* What the transfers of one event loop share: libcurl's multi handle, whose
 * sockets are sources of the loop's epoll. The loop's thread. */
#ifndef API_FORWARD_POOL_H
#define API_FORWARD_POOL_H

#include <curl/curl.h>
#include <sys/queue.h>

#include "forward/forward.h"
#include "net/event_source.h"

/* A socket of libcurl. */
struct forward_socket {
    struct event_source source; /* first: it is the source */
    struct forward *forward;
    bool ready;
    TAILQ_ENTRY(forward_socket) order;
};

TAILQ_HEAD(forward_sockets, forward_socket);

/* What libcurl works on; the first member of its owner. */
struct forward_call {
    CURL *curl; /* NULL: not with libcurl. Its CURLOPT_PRIVATE is the call */
    /* libcurl is done with it, and no function of libcurl is running. */
    void (*ended)(struct forward_call *call, CURLcode code);
    bool failed; /* one of its sockets cannot be watched: it is about to end */
    TAILQ_ENTRY(forward_call) order;
};

TAILQ_HEAD(forward_calls, forward_call);

struct forward {
    struct run_queue *queue;
    int epoll_fd;
    CURLM *multi;
    uint64_t due_ns; /* of libcurl's timer; 0: none */
    struct forward_sockets ready;
    struct forward_calls failed;
    size_t requests; /* transfers */
    size_t lasting;  /* of them, those that may last for hours */
};

/* May a further transfer begin? `lasting`: it may last for hours. */
bool forward_has_room(const struct forward *forward, bool lasting);
/* Gives a call to libcurl, and takes it back before or after its end. False
 * when memory ran out. */
bool forward_add(struct forward *forward, struct forward_call *call);
void forward_remove(struct forward *forward, struct forward_call *call);

#endif
