/* Percent-encoding (RFC 3986). Texts have a length, so %00 is an ordinary byte.
 * '+' is a plus, not a space. Any thread. */
#ifndef API_PERCENT_H
#define API_PERCENT_H

#include "kindex.h"

/* Appends the text with every %XX replaced by its byte. Returns false if a '%'
 * is not followed by two hexadecimal digits; out then has the text before it.
 * The caller checks whether the bytes are UTF-8. */
bool percent_decode(struct kx_slice text, struct kx_buffer *out);

/* Appends text with everything but letters, digits and "-._~" escaped, so
 * that it can stand in a path segment or in a query. */
void percent_encode(struct kx_slice text, struct kx_buffer *out);

#endif
