/* The connections of one event loop: libcurl's multi handle, whose sockets are
 * sources of the loop's epoll. The loop's thread. */
#ifndef API_FORWARD_POOL_H
#define API_FORWARD_POOL_H

#include <curl/curl.h>
#include <sys/queue.h>

#include "forward/forward.h"
#include "net/event_source.h"

/* A socket of libcurl. */
struct forward_socket {
    struct event_source source; /* must be first */
    struct forward *forward;
    bool ready;
    TAILQ_ENTRY(forward_socket) order;
};

TAILQ_HEAD(forward_sockets, forward_socket);

/* A transfer as libcurl sees it; the first member of its owner. */
struct forward_call {
    CURL *curl; /* NULL: not added. CURLOPT_PRIVATE is the call */
    /* Called when the transfer has ended, outside libcurl's callbacks. */
    void (*ended)(struct forward_call *call, CURLcode code);
    bool failed; /* a socket cannot be watched: forward_run ends the call */
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
    size_t lasting;  /* transfers that may last for hours */
};

/* True if another transfer may begin; `lasting` if it may last for hours. */
bool forward_has_room(const struct forward *forward, bool lasting);
/* Adds a call to libcurl, or removes it before or after its end. forward_add
 * returns false if memory ran out. */
bool forward_add(struct forward *forward, struct forward_call *call);
void forward_remove(struct forward *forward, struct forward_call *call);

#endif
