/* Why a request to S3 has failed, as a sentence for the log: what was asked
 * for, where, the answer, and what to do. */
#ifndef S3_FAULT_H
#define S3_FAULT_H

#include "s3/s3_request.h"

/* What sentences call the object. */
const char *s3_fault_name(const struct s3_request *request);

/* True if its status is one that may pass: too many requests, or an error of
 * the other side. */
bool s3_fault_passes(const struct s3_request *request);

/* No answer, or only a part of it, has come. KX_UNREACHABLE. */
enum kx_status s3_fault_unreachable(const struct s3 *s3,
                                    const struct s3_request *request,
                                    const char *why, struct kx_fault *fault);

/* The status is an error. KX_ABSENT: it says only that the object is not there;
 * KX_UNREACHABLE: it may pass; KX_FAILED. */
enum kx_status s3_fault_refused(const struct s3 *s3,
                                const struct s3_request *request,
                                struct kx_fault *fault);

#endif
