/* One request on its way to the active node, and what has come of its answer.
 * It lies in the request's memory and ends with it: if the client is gone, the
 * transfer is broken off. The loop's thread. */
#ifndef API_TRANSFER_H
#define API_TRANSFER_H

#include "forward/forward_head.h"
#include "forward/forward_pool.h"
#include "http/service.h"

enum {
    TRANSFER_PIECE = 64 * 1024 /* bytes of a body up to which it is awaited as a
                                * whole, and which are kept of a longer one
                                * before its client takes them */
};

struct transfer {
    struct forward_call call; /* first */
    struct forward *forward;
    struct request *request;
    struct curl_slist *lines;
    struct stream stream;
    uint64_t epoch; /* of the node that is asked */
    struct forward_head head;
    struct kx_buffer data; /* of the body, not taken yet */
    CURLcode code;         /* once it has ended */
    char why[CURL_ERROR_SIZE];
    uint64_t moved_ns; /* when bytes last came, or it began */
    uint64_t stop_ns;  /* when it is given up as this node stops; 0: not yet */
    unsigned tries;
    unsigned sends; /* times that it may have been sent */
    bool writes;    /* to send it twice could be wrong */
    bool lasting;   /* it may last for hours */
    bool ended;
    bool paused;   /* the buffer is full */
    bool replied;  /* status and headers were given to the client */
    bool awaited;  /* the exchange waits for news */
    bool notified; /* and its ticket is in the run queue */
};

/* Makes a transfer; it is not on its way. NULL when memory ran out. */
struct transfer *transfer_new(struct forward *forward, struct request *request);
/* Sends the request to this node. False when memory ran out. */
bool transfer_begin(struct transfer *transfer, const struct kx_holder *node);

/* Can status and headers, or a failure, be told? */
bool transfer_is_answered(const struct transfer *transfer);
/* Moves what has come of the body to out. */
void transfer_take(struct transfer *transfer, struct kx_buffer *out);

/* Sets request.wait for news, until until_ns at the latest. */
void transfer_await(struct transfer *transfer, uint64_t until_ns);
/* The exchange was continued. */
void transfer_resume(struct transfer *transfer);

#endif
