/* Percent-encoding (RFC 3986), with lengths: %00 is a byte like any other and
 * '+' is a plus. */
#ifndef API_PERCENT_H
#define API_PERCENT_H

#include "kindex.h"

/* Appends text with every %XX replaced by its byte; false when a '%' is not
 * followed by two hexadecimal digits, with out as far as it got. The bytes need
 * not be UTF-8: that is for the caller to check. */
bool percent_decode(struct kx_slice text, struct kx_buffer *out);

/* Appends text with everything but letters, digits and "-._~" escaped, so
 * that it can stand in a path segment or in a query. */
void percent_encode(struct kx_slice text, struct kx_buffer *out);

#endif
