/* A file becomes an object: by one request, or if it is large in parts, which
 * are tried again one by one. Memory does not depend on its size. */
#ifndef S3_UPLOAD_H
#define S3_UPLOAD_H

#include "s3/s3_request.h"

enum {
    S3_PART_BYTES = 16 << 20, /* larger files are sent in parts */
    S3_PARTS_MAX = 9000       /* of one file; S3 takes 10000 */
};

struct s3_upload {
    struct s3 *s3;
    const char *key;
    int fd;
    uint64_t size;
    void (*between)(void *context); /* after each part; NULL: nothing */
    void *context;
};

/* The object is there when this returns KX_OK; else it is not, or is as it was.
 * Statuses are those of s3_send. */
enum kx_status s3_upload(const struct s3_upload *upload,
                         struct kx_fault *fault);

/* The size of an object; KX_ABSENT: there is no such object. */
enum kx_status s3_upload_measure(struct s3 *s3, const char *key,
                                 uint64_t *size_out, struct kx_fault *fault);

#endif
