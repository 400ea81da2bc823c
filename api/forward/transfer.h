/* A request in flight to the active node, and its answer as far as it has
 * arrived. It lies in the request's memory and ends with it: if the client
 * disconnects, the transfer is aborted. The loop's thread. */
#ifndef API_TRANSFER_H
#define API_TRANSFER_H

#include <curl/curl.h>

#include "forward/forward_pool.h"
#include "http/request.h"
#include "http/service.h"

/* Status and headers of an answer. Texts lie in the request's memory. */
struct forward_head {
    int status; /* 0: not complete yet */
    bool sized; /* the answer has a Content-Length: `size` */
    bool chunked;
    uint64_t size;
    const char *content_type; /* NULL: it has none */
    struct header headers[REPLY_HEADERS_MAX];
    size_t header_count;
    int coming; /* the status before the headers are complete */
};

/* Copies status and headers to the reply. */
void forward_head_reply(const struct forward_head *head, struct reply *reply);

enum {
    TRANSFER_PIECE = 64 * 1024 /* bytes: a body up to this size is awaited
                                * whole; of a larger one this much is buffered
                                * for the client */
};

struct transfer {
    struct forward_call call; /* must be first */
    struct forward *forward;
    struct request *request;
    struct curl_slist *lines;
    struct stream stream;
    uint64_t epoch; /* of the node that the request was sent to */
    struct forward_head head;
    struct kx_buffer data; /* the part of the body that is not passed on yet */
    CURLcode code;         /* once it has ended */
    char why[CURL_ERROR_SIZE];
    uint64_t moved_ns; /* when bytes last arrived, or the transfer began */
    uint64_t stop_ns;  /* when to abort because this node stops; 0: not yet */
    unsigned tries;
    unsigned sends; /* number of times that the request may have been sent */
    bool writes;    /* must not be sent twice */
    bool lasting;   /* may last for hours */
    bool ended;
    bool paused;   /* the buffer is full */
    bool replied;  /* status and headers were passed on to the client */
    bool awaited;  /* the exchange waits for a notification */
    bool notified; /* the exchange's ticket is in the run queue */
};

/* Makes a transfer without sending it. NULL if memory ran out. */
struct transfer *transfer_new(struct forward *forward, struct request *request);
/* Sends the request to the node. Returns false if memory ran out. */
bool transfer_begin(struct transfer *transfer, const struct kx_holder *node);

/* True if status and headers, or a failure, are known. */
bool transfer_is_answered(const struct transfer *transfer);
/* Moves the part of the body that has arrived to out. */
void transfer_take(struct transfer *transfer, struct kx_buffer *out);

/* Sets request.wait to end when more of the answer arrives, at the latest at
 * until_ns. */
void transfer_await(struct transfer *transfer, uint64_t until_ns);
/* Call it when the exchange continues after the wait. */
void transfer_resume(struct transfer *transfer);

#endif
