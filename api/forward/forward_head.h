/* The headers of a request that is forwarded, and of its answer. */
#ifndef API_FORWARD_HEAD_H
#define API_FORWARD_HEAD_H

#include <curl/curl.h>

#include "http/request.h"

/* Status and headers of an answer, whose texts lie in the request's memory. */
struct forward_head {
    int status; /* 0: not complete yet */
    bool sized; /* the answer says how many bytes its body has */
    bool chunked;
    uint64_t size;
    const char *content_type; /* NULL: it has none */
    struct header headers[REPLY_HEADERS_MAX];
    size_t header_count;
    int coming; /* the status before the headers are complete */
};

/* The headers to send, as a list that the caller frees. NULL when memory ran
 * out. */
struct curl_slist *forward_head_lines(struct request *request);

/* Takes a line of the answer's head, as it came. False: memory ran out, or
 * there are more headers than a reply may have. */
bool forward_head_take(struct forward_head *head, struct request *request,
                       struct kx_slice line);

/* Gives status and headers to the reply. */
void forward_head_reply(const struct forward_head *head, struct reply *reply);

#endif
