/* The body of a request, by its media type. */
#ifndef API_BODY_H
#define API_BODY_H

#include "flaw.h"

/* The value that the body of a PUT is: application/json, no media type, or
 * what curl -d sends by itself is JSON, which is checked;
 * application/vnd.kindex.typed+json is a typed value; everything else is bytes
 * with that media type. The value's slices lie in the request. */
bool body_value(const struct request *request, struct kx_value *value_out,
                struct flaw *flaw);

/* Checks that the body is a merge patch: JSON, also as
 * application/merge-patch+json. */
bool body_patch(const struct request *request, struct kx_value *value_out,
                struct flaw *flaw);

/* Checks that the body is JSON that the service interprets. */
bool body_json(const struct request *request, struct flaw *flaw);

#endif
