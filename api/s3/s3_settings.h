/* The bucket, its endpoint and the access key. */
#ifndef S3_SETTINGS_H
#define S3_SETTINGS_H

#include "kindex.h"

enum { S3_BUCKET_MAX = 64, S3_PREFIX_MAX = 512, S3_KEY_MAX = 768 };

struct s3_settings {
    char bucket[S3_BUCKET_MAX];
    const char *endpoint; /* https://HOST[:PORT] */
    const char *region;
    const char *access_key;
    const char *secret_key;
    const char *session_token; /* NULL: none */
    const char *ca_file;       /* NULL: the system's authorities */
};

/* Reads the name of an archive, s3://BUCKET/PREFIX, and the environment into
 * settings allocated in mem, a talloc context. Returns KX_OK, KX_BAD_DIRECTORY
 * with a sentence in fault, or KX_NO_MEMORY. */
enum kx_status s3_settings_read(void *mem, const char *archive,
                                struct s3_settings *settings_out,
                                struct kx_fault *fault);

#endif
