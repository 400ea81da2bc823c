/* Uploads a file as an object: in one request or, if it is large, in parts that
 * are retried one by one. Memory does not depend on the size. */
#ifndef S3_UPLOAD_H
#define S3_UPLOAD_H

#include "s3/s3_request.h"

enum {
    S3_PART_BYTES = 16 << 20, /* larger files are sent in parts */
    S3_PARTS_MAX = 9000       /* parts of one file; S3 allows 10000 */
};

struct s3_upload {
    struct s3 *s3;
    const char *key;
    int fd;
    uint64_t size;
    void (*between)(void *context); /* called after each part; NULL: not called
                                     */
    void *context;
};

/* Uploads the file. KX_OK: the object exists. After KX_ABSENT (there is no such
 * bucket), KX_UNREACHABLE, KX_FAILED and KX_NO_MEMORY it is unchanged. */
enum kx_status s3_upload(const struct s3_upload *upload,
                         struct kx_fault *fault);

/* Gets the size of an object. KX_OK; KX_ABSENT: there is no such object;
 * KX_UNREACHABLE, KX_FAILED, KX_NO_MEMORY. */
enum kx_status s3_upload_measure(struct s3 *s3, const char *key,
                                 uint64_t *size_out, struct kx_fault *fault);

#endif
