/* One request to S3: signed, sent, and retried while that may help. */
#ifndef S3_REQUEST_H
#define S3_REQUEST_H

#include <curl/curl.h>
#include <stdatomic.h>

#include "kindex.h"
#include "s3/s3_settings.h"

enum {
    S3_CONNECT_MS = 5000,
    S3_STALL_S = 30,      /* seconds after which a slow transfer is aborted */
    S3_STALL_BYTES = 512, /* bytes per second below which a transfer is slow */
    S3_REQUEST_S = 60,    /* most seconds of a request other than a download, */
    S3_RATE_BYTES = 65536, /* plus one second for this many bytes of its body */
    S3_TRIES = 4,
    S3_BACKOFF_MS = 250, /* pause before the second attempt, then doubled */
    S3_HURRY_MS = 5000,  /* time for the current request when the store closes
                          */
    S3_REPLY_MAX = 4 << 20, /* bytes of a reply that is not an object */
    S3_ETAG_MAX = 128
};

/* The connection to a bucket. */
struct s3 {
    struct kx_object_store store;
    struct s3_settings settings;
    CURL *curl;
    atomic_uint_fast64_t hurry_ns; /* when the store began to close; 0: it is
                                    * open */
    char growing[S3_KEY_MAX];      /* the key of the object that grows */
    unsigned pieces;               /* pieces of `growing` written since it was
                                    * last written as one */
};

struct s3_request {
    const char *method;
    const char *key;   /* key in the bucket; "": the bucket itself */
    const char *query; /* encoded, sorted by name; NULL: none */
    const char *about; /* its name in messages; NULL: the key */
    struct kx_slice body;
    int fd; /* a file of which `range` is sent instead of body; -1: none */
    uint64_t range[2];
    bool creates;   /* only if there is no such object */
    bool gives_way; /* aborted as soon as the store closes */
    /* Receives the object, from byte `done` on. NULL: the reply is kept. */
    kx_object_bytes_fn *bytes;
    void *target;
    uint64_t done;
    /* The reply. */
    long status;
    uint64_t size; /* Content-Length, if there is one */
    char etag[S3_ETAG_MAX];
    struct kx_buffer reply; /* allocated in the object store */
    bool stopped;           /* `bytes` has stopped the transfer */
};

/* Sends the request, with retries. Returns KX_OK if the status is a success,
 * KX_ABSENT if there is no such object, KX_CHECK_FAILED if `creates` is set and
 * there is one (perhaps because an earlier attempt succeeded), KX_UNREACHABLE
 * if all attempts failed, KX_FAILED if the server refused it or `bytes` stopped
 * it, or KX_NO_MEMORY. The caller frees the reply with s3_request_end. */
enum kx_status s3_send(struct s3 *s3, struct s3_request *request,
                       struct kx_fault *fault);
void s3_request_end(struct s3_request *request);

#endif
