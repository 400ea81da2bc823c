/* Is a request of HTTP/2 well-formed (RFC 9113 section 8)? A malformed one is
 * reset (section 8.1.1), because another reader could take it for a different
 * request. nghttp2's own checks are switched off: they reset a request without
 * a host as well, which is to be answered. What this service requires in
 * addition is in http2_head.h. Pure: no memory, no library state. */
#ifndef API_HTTP2_MESSAGE_H
#define API_HTTP2_MESSAGE_H

#include "kindex.h"

/* One request, from its first field on. Zeroed, it has none. */
struct http2_message {
    uint16_t seen;   /* bits, http2_message.c's own */
    bool trailers;   /* the head is complete */
    uint64_t length; /* that the head announces; 0: none */
    uint64_t body;   /* bytes of DATA so far */
};

enum http2_field {
    HTTP2_FIELD_VALID,
    HTTP2_FIELD_BAD_TEXT, /* a regular field with characters that are not
                           * allowed: to be answered (400) */
    HTTP2_FIELD_MALFORMED
};

/* Takes the next field of the head or, after http2_message_head, of the
 * trailers: known pseudo fields, each once, before all others and not in
 * trailers; names in lower case; no fields about the connection; at most one
 * length and one host. An empty host is left to http2_head.c. */
enum http2_field http2_message_field(struct http2_message *message,
                                     struct kx_slice name,
                                     struct kx_slice value);
/* The head is complete: false when a pseudo field other than :authority is
 * missing, or the method does not have such a path. */
bool http2_message_head(struct http2_message *message);
/* Counts bytes of the body: false when it has more than announced. */
bool http2_message_body(struct http2_message *message, size_t size);
/* The request is complete: false when the body has less than announced. */
bool http2_message_end(const struct http2_message *message);

#endif
