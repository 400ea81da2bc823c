/* The head of an HTTP/2 request, and its checks.
 *
 * struct http2_message checks whether the request is well-formed (RFC 9113
 * section 8). A malformed request is reset (section 8.1.1), because another
 * reader could take it for a different request. nghttp2's own checks are
 * switched off: they would also reset a request without a host, which must be
 * answered. These functions do not allocate and do not use the library.
 *
 * struct http2_head keeps the fields and checks what this service requires in
 * addition, as framing.h does for HTTP/1.1. */
#ifndef API_HTTP2_HEAD_H
#define API_HTTP2_HEAD_H

#include "config/options.h"
#include "http/problem.h"
#include "kindex.h"

/* One request, from its first field on. Zero-initialized, it has no fields. */
struct http2_message {
    uint16_t seen;   /* bits of http2_head.c */
    bool trailers;   /* the head is complete */
    uint64_t length; /* bytes of the body that the head announces; 0: none */
    uint64_t body;   /* bytes of DATA so far */
};

enum http2_field {
    HTTP2_FIELD_VALID,
    HTTP2_FIELD_BAD_TEXT, /* a regular field with invalid characters: to be
                           * answered (400) */
    HTTP2_FIELD_MALFORMED
};

/* Checks the next field of the head or, after http2_message_head, of the
 * trailers: known pseudo fields, each once, before all others and not in
 * trailers; names in lower case; no fields about the connection; at most one
 * length and one host. http2_head_add checks for an empty host. */
enum http2_field http2_message_field(struct http2_message *message,
                                     struct kx_slice name,
                                     struct kx_slice value);
/* Checks the complete head. False if a pseudo field other than :authority is
 * missing, or the path does not suit the method. */
bool http2_message_head(struct http2_message *message);
/* Counts bytes of the body. False if there are more than announced. */
bool http2_message_body(struct http2_message *message, size_t size);
/* Checks the complete request. False if the body has fewer bytes than
 * announced. */
bool http2_message_end(const struct http2_message *message);

enum {
    HTTP2_FIELD_EXTRA = 32 /* overhead in bytes that each field counts (RFC 9113
                            * section 6.5.2) */
};

struct http2_head {
    const struct options *options; /* headers_max, header_count_max */
    struct kx_buffer fields; /* for each field: sizes, name, NUL, value, NUL */
    uint32_t size;           /* bytes of the head if written as HTTP/1.1 */
    uint32_t count;          /* header lines if written as HTTP/1.1 */
    bool has_host;
    const char *flaw;      /* the first fault; NULL: none so far */
    enum problem_code why; /* the problem of the flaw */
};

/* Returns the largest head to announce to clients, in bytes counted as in RFC
 * 9113 section 6.5.2. */
size_t http2_head_size_max(const struct options *options);

/* Initializes a head without fields, allocated under owner (a talloc context).
 * options, which has the limits, must outlive the head. */
void http2_head_init(struct http2_head *head, const struct options *options,
                     const void *owner);

/* Copies a field into the head; ":authority" becomes Host, the other pseudo
 * fields are only counted. Beyond a limit, or after a flaw, nothing is copied.
 */
void http2_head_add(struct http2_head *head, struct kx_slice name,
                    struct kx_slice value);
/* Notes a flaw unless there already is one. The text must be a constant. */
void http2_head_flaw(struct http2_head *head, enum problem_code why,
                     const char *flaw);
/* Checks the complete head for missing fields; target is the request's target.
 */
void http2_head_end(struct http2_head *head, struct kx_slice target);

/* Returns the value of the field with this name (any case), or NULL. Lines of
 * the same name are joined in memory, as header_fn in request.h requires. */
const char *http2_head_find(const struct http2_head *head, const char *name,
                            void *memory);

#endif
