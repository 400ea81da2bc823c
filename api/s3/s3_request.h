/* One request to S3: signed, sent, and repeated while that may help. */
#ifndef S3_REQUEST_H
#define S3_REQUEST_H

#include <curl/curl.h>
#include <stdatomic.h>

#include "kindex.h"
#include "s3/s3_settings.h"

enum {
    S3_CONNECT_MS = 5000,
    S3_STALL_S = 30,      /* a transfer that moves less than */
    S3_STALL_BYTES = 512, /* this each second for so long is broken off */
    S3_REQUEST_S = 60,    /* a request that is not a download takes at most this
                           * long, and longer */
    S3_RATE_BYTES = 65536, /* by a second for so much that it sends */
    S3_TRIES = 4,
    S3_BACKOFF_MS = 250, /* before the second try; doubled for each further */
    S3_HURRY_MS = 5000,  /* for what is under way when the store closes */
    S3_REPLY_MAX = 4 << 20, /* of a reply that is not an object */
    S3_ETAG_MAX = 128
};

/* The connection to a bucket. */
struct s3 {
    struct kx_object_store store;
    struct s3_settings settings;
    CURL *curl;
    atomic_uint_fast64_t hurry_ns; /* when the store began to close, or 0 */
    char growing[S3_KEY_MAX];      /* the key of the object that grows */
    unsigned pieces;               /* of it, since it was written as one */
};

struct s3_request {
    const char *method;
    const char *key;   /* in the bucket; "": the bucket itself */
    const char *query; /* encoded, sorted by name; NULL: none */
    const char *about; /* what messages call it; NULL: its key */
    struct kx_slice body;
    int fd; /* of a file of which a part is sent instead of body; -1: none */
    uint64_t range[2];
    bool gives_way; /* is broken off as soon as the store closes */
    /* NULL: the reply is kept. Else receives the object, from its byte `done`
     * on. */
    kx_object_bytes_fn *bytes;
    void *target;
    uint64_t done;
    /* The reply. */
    long status;
    uint64_t size; /* its Content-Length, if it has one */
    char etag[S3_ETAG_MAX];
    struct kx_buffer reply; /* in the context of the object store */
    bool stopped;           /* by `bytes` */
};

/* Sends it. KX_OK: the status is one of success; KX_ABSENT: there is no such
 * object; KX_UNREACHABLE: all tries failed; KX_FAILED: it is refused, or
 * `bytes` has stopped it; KX_NO_MEMORY. Frees no reply: s3_request_end. */
enum kx_status s3_send(struct s3 *s3, struct s3_request *request,
                       struct kx_fault *fault);
void s3_request_end(struct s3_request *request);

/* True from the time on at which the store closes. */
bool s3_hurries(struct s3 *s3);

#endif
