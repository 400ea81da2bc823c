/* The head of an HTTP/2 request: its header fields, and the checks that they
 * pass. The library has checked what HTTP/2 says about any message (names,
 * order, no connection headers, a length that agrees with the body); this file
 * checks what this service requires in addition, as framing.h does for
 * HTTP/1.1. */
#ifndef API_HTTP2_HEAD_H
#define API_HTTP2_HEAD_H

#include "config/options.h"
#include "http/problem.h"

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
