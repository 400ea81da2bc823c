/* Strict framing of HTTP/1.x requests: finds where each request of a byte
 * stream ends, and refuses requests on whose end two readers could disagree. A
 * pure state machine, fed with the bytes as they arrive: it keeps no copy,
 * allocates nothing and cannot fail. How the bytes are split never changes the
 * verdict. */
#ifndef API_FRAMING_H
#define API_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum framing_limit {
    FRAMING_METHOD_MAX = 32,        /* bytes of a method */
    FRAMING_LENGTH_DIGITS_MAX = 18, /* digits of a Content-Length */
    FRAMING_CHUNK_DIGITS_MAX = 16,  /* digits of a chunk size */
    FRAMING_CHUNK_LINE_MAX = 256,   /* bytes of a chunk's extensions */
    FRAMING_ANSWER_MAX = 1024       /* bytes of the longest framing_answer */
};

/* Limits in bytes and lines. A request beyond a limit gets a fault of size
 * (413, 414, 431), so the client can tell it from a malformed request. */
struct framing_limits {
    uint64_t body_max;         /* bytes of a body, without chunk framing */
    uint32_t target_max;       /* bytes of a request target */
    uint32_t headers_max;      /* bytes of request line and headers; also of
                                * the trailers */
    uint32_t header_count_max; /* header lines, and separately trailer lines */
};

/* What is wrong with a stream. Every fault ends the connection, because the
 * beginning of the next request is unknown (RFC 9112 section 11.2, request
 * smuggling). framing_answer explains each fault. */
enum framing_fault {
    FRAMING_NO_FAULT,
    FRAMING_BAD_METHOD,
    FRAMING_BAD_TARGET,
    FRAMING_BAD_REQUEST_LINE,
    FRAMING_BAD_LINE_END,
    FRAMING_BAD_HEADER_NAME,
    FRAMING_BAD_HEADER_VALUE,
    FRAMING_FOLDED_HEADER,
    FRAMING_NO_HOST,
    FRAMING_TWO_HOSTS,
    FRAMING_BAD_HOST,
    FRAMING_BAD_LENGTH,
    FRAMING_TWO_LENGTHS,
    FRAMING_LENGTH_AND_ENCODING,
    FRAMING_TWO_ENCODINGS,
    FRAMING_ENCODING_IN_1_0,
    FRAMING_BAD_CHUNK,
    FRAMING_BAD_TRAILER,
    FRAMING_URI_TOO_LONG,
    FRAMING_HEADERS_TOO_LARGE,
    FRAMING_BODY_TOO_LARGE,
    FRAMING_UNKNOWN_ENCODING,
    FRAMING_UNKNOWN_VERSION,
    FRAMING_SLOW_HEAD, /* this and the next two are found by a clock, not by
                        * framing */
    FRAMING_SLOW_BODY,
    FRAMING_STALLED_BODY, /* stalled while others needed the memory it holds */
    FRAMING_FAULT_COUNT   /* number of faults */
};

/* The state of one stream between two calls. Only `requests` and `cookie` are
 * for the caller. */
struct framing {
    uint64_t requests; /* complete valid requests so far */
    const struct framing_limits *limits;
    uint64_t body_left;  /* bytes of the body or chunk still to come */
    uint64_t body_total; /* bytes of all chunks so far */
    uint32_t section;    /* bytes of the header section or trailers so far */
    uint32_t span;       /* bytes of the current element so far */
    uint32_t lines;      /* header lines so far */
    uint8_t state;
    uint8_t fault;         /* final once set */
    uint8_t field;         /* which header the current line is */
    uint8_t seen;          /* headers that the current request has had */
    const uint8_t *cookie; /* last byte of the last complete Cookie name in this
                            * piece, or NULL */
    char name[20];         /* beginning of a name that is split over pieces */
};

/* Initializes framing for the beginning of a stream. limits must outlive
 * framing. */
void framing_init(struct framing *framing, const struct framing_limits *limits);

/* Feeds the next bytes of the stream. Returns how many of them, from the first,
 * may be passed on to a server, and sets *fault_out to the fault or
 * FRAMING_NO_FAULT. Without a fault all bytes may be passed on. With a fault
 * only the bytes up to the end of the last complete valid request may be; the
 * bytes after the faulty request are not read. After a fault every further call
 * returns 0 and the same fault.
 *
 * Earlier calls may have passed on the beginning of the faulty request: the
 * server then has a request that never becomes complete. */
size_t framing_feed(struct framing *framing, const uint8_t *data, size_t size,
                    enum framing_fault *fault_out);

/* True if the stream is within a head, or within a body. Both are false between
 * two requests and after a fault. */
bool framing_in_head(const struct framing *framing);
bool framing_in_body(const struct framing *framing);

/* Writes the whole HTTP/1.1 answer to a fault into out, without a NUL: a
 * problem document with this request identifier and `Connection: close`.
 * Returns its size, at most FRAMING_ANSWER_MAX, or 0 if the answer does not fit
 * into size bytes or fault is FRAMING_NO_FAULT. */
size_t framing_answer(enum framing_fault fault, const char *id, char *out,
                      size_t size);
/* The HTTP status that it answers. */
int framing_status(enum framing_fault fault);

#endif
