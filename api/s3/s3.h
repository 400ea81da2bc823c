/* An archive in S3, or in anything that speaks its protocol: the objects of
 * kindex/object_store.h. */
#ifndef S3_H
#define S3_H

#include "kindex.h"

/* True if the text names a bucket, s3://BUCKET/PREFIX, rather than a directory.
 */
bool s3_is_named(const char *archive);

/* Makes the object store. Access key, region and endpoint are taken from the
 * environment, under the names that every tool for S3 uses (README). Nothing is
 * sent yet. NULL, with a sentence in fault: a setting is missing or wrong, or
 * memory ran out. */
const struct kx_object_store *s3_open(const char *archive,
                                      struct kx_fault *fault);

/* Frees it, and ends its connection. NULL is allowed. */
void s3_close(const struct kx_object_store *objects);

#endif
