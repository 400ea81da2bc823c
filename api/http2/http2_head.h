/* The head of an HTTP/2 request, and the checks that it passes.
 *
 * struct http2_message tells whether the request is well-formed (RFC 9113
 * section 8). A malformed one is reset (section 8.1.1), because another reader
 * could take it for a different request. nghttp2's own checks are switched off:
 * they reset a request without a host as well, which must be answered. These
 * functions need no memory and no library.
 *
 * struct http2_head keeps the fields, and checks what this service requires in
 * addition, as framing.h does for HTTP/1.1. */
#ifndef API_HTTP2_HEAD_H
#define API_HTTP2_HEAD_H

#include "config/options.h"
#include "http/problem.h"
#include "kindex.h"

/* One request, from its first field on. Zeroed, it has none. */
struct http2_message {
    uint16_t seen;   /* bits of http2_head.c */
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
 * length and one host. An empty host is left to http2_head_add. */
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

enum {
    HTTP2_FIELD_EXTRA = 32 /* bytes that each field counts besides its own (RFC
                            * 9113 section 6.5.2) */
};

struct http2_head {
    const struct options *options; /* headers_max, header_count_max */
    struct kx_buffer fields; /* sizes, name, NUL, value, NUL; one by one */
    uint32_t size;           /* bytes, as HTTP/1.1 would write them */
    uint32_t count;          /* header lines, likewise */
    bool has_host;
    const char *flaw;      /* what is wrong, NULL: nothing so far */
    enum problem_code why; /* of the flaw */
};

/* The size of a head that clients are told to keep to, counted as RFC 9113
 * section 6.5.2 does. */
size_t http2_head_size_max(const struct options *options);

/* A head without fields, which will live under owner (a talloc context);
 * options, which have its limits, must outlive it. */
void http2_head_init(struct http2_head *head, const struct options *options,
                     const void *owner);

/* Takes a copy of a field; ":authority" becomes Host, the other pseudo fields
 * are only counted. Above a limit, or after a flaw, nothing is kept. */
void http2_head_add(struct http2_head *head, struct kx_slice name,
                    struct kx_slice value);
/* Notes a flaw; the first one stays. The text is a constant. */
void http2_head_flaw(struct http2_head *head, enum problem_code why,
                     const char *flaw);
/* All fields are there and target is the request's target: looks for missing
 * fields. */
void http2_head_end(struct http2_head *head, struct kx_slice target);

/* The value of a field by its name (any case), NULL when absent; lines of the
 * same name are joined in memory, as header_fn in request.h says. */
const char *http2_head_find(const struct http2_head *head, const char *name,
                            void *memory);

#endif
