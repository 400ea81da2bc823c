/* Describes a failed request to S3 in a sentence for the log: the request, the
 * endpoint, the answer, and what to do. */
#ifndef S3_FAULT_H
#define S3_FAULT_H

#include "s3/s3_request.h"

/* Returns the name of the object for such sentences. */
const char *s3_fault_name(const struct s3_request *request);

/* True if a retry may succeed: the status says too many requests or an error of
 * the server. */
bool s3_fault_passes(const struct s3_request *request);

/* Describes a request that got no complete answer. Returns KX_UNREACHABLE. */
enum kx_status s3_fault_unreachable(const struct s3 *s3,
                                    const struct s3_request *request,
                                    const char *why, struct kx_fault *fault);

/* Describes an answer whose status is an error. Returns KX_ABSENT if only the
 * object is missing, KX_UNREACHABLE if a retry may succeed, otherwise
 * KX_FAILED. */
enum kx_status s3_fault_refused(const struct s3 *s3,
                                const struct s3_request *request,
                                struct kx_fault *fault);

#endif
