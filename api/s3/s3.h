/* An archive in S3, or in any store with its protocol: implements
 * kindex/object_store.h. */
#ifndef S3_H
#define S3_H

#include "kindex.h"

/* True if the name of the archive is a bucket, s3://BUCKET/PREFIX, not a
 * directory. */
bool s3_is_named(const char *archive);

/* Creates the object store, without sending anything. Access key, region and
 * endpoint come from the environment variables that other tools for S3 also use
 * (README). Returns NULL with a sentence in fault if a setting is missing or
 * invalid, or memory ran out. Free it with s3_close. */
const struct kx_object_store *s3_open(const char *archive,
                                      struct kx_fault *fault);

/* Frees the object store and closes its connection. NULL is allowed. */
void s3_close(const struct kx_object_store *objects);

#endif
