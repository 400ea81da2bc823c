/* Strict framing of HTTP/1.x requests: where each request of a byte stream
 * ends, and whether all readers on the way must agree on that. A pure state
 * machine: it is shown the bytes in the order and the pieces in which they
 * arrive, keeps no copy of them, allocates nothing and cannot fail. The pieces
 * never change the verdict. */
#ifndef API_FRAMING_H
#define API_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum framing_limit {
    FRAMING_METHOD_MAX = 32,        /* bytes of a method */
    FRAMING_LENGTH_DIGITS_MAX = 18, /* of a Content-Length */
    FRAMING_CHUNK_DIGITS_MAX = 16,  /* of a chunk size */
    FRAMING_CHUNK_LINE_MAX = 256,   /* bytes of a chunk's extensions */
    FRAMING_ANSWER_MAX = 1024       /* enough for every framing_answer */
};

/* What a server is willing to take, in bytes and lines. A request above one of
 * them gets a fault of size (413, 414, 431), so that the client can tell it
 * from a mistake. */
struct framing_limits {
    uint64_t body_max;         /* bytes of a body, without chunk framing */
    uint32_t target_max;       /* bytes of a request target */
    uint32_t headers_max;      /* bytes of request line and headers; also of
                                * the trailers */
    uint32_t header_count_max; /* header lines, and again trailer lines */
};

/* What is wrong with a stream. Every fault ends the connection: where the next
 * request would begin is what cannot be known (RFC 9112 section 11.2, request
 * smuggling). framing_answer says what each of them means. */
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
    FRAMING_SLOW_HEAD, /* these three are found by a clock, not by framing */
    FRAMING_SLOW_BODY,
    FRAMING_STALLED_BODY, /* while others needed what it holds */
    FRAMING_FAULT_COUNT   /* of faults; not a fault */
};

/* One stream, at any point of which it can be left and continued. All members
 * but `requests` and `cookie` are framing's own. */
struct framing {
    uint64_t requests; /* that were complete and in order, so far */
    const struct framing_limits *limits;
    uint64_t body_left;  /* bytes of the body or of the chunk still to come */
    uint64_t body_total; /* bytes of all chunks so far */
    uint32_t section;    /* bytes of the header section or trailers so far */
    uint32_t span;       /* bytes of the current element so far */
    uint32_t lines;      /* header lines so far */
    uint8_t state;
    uint8_t fault;         /* once set, it stays */
    uint8_t field;         /* which header the line is */
    uint8_t seen;          /* headers that this request had */
    const uint8_t *cookie; /* last byte of the name of the last Cookie header
                            * in this piece, if it is whole; or NULL */
    char name[20];         /* beginning of a name that is split over pieces */
};

/* At the beginning of a stream. limits must outlive framing. */
void framing_init(struct framing *framing, const struct framing_limits *limits);

/* Takes the next bytes of the stream. Returns how many of them, from the
 * first, may be passed on to a server; *fault_out becomes the fault or
 * FRAMING_NO_FAULT. Without a fault that is all of them. With a fault it ends
 * with the last request that was complete and in order, so nothing of the bad
 * request's bytes in this piece is passed on, and what follows them is not
 * looked at. After a fault every further call returns 0 and the same fault.
 *
 * The head of the bad request may have been passed on in former pieces: a
 * server then has a request that never becomes complete. */
size_t framing_feed(struct framing *framing, const uint8_t *data, size_t size,
                    enum framing_fault *fault_out);

/* Is the stream within a head, or within a body? Neither is true between two
 * requests and after a fault. */
bool framing_in_head(const struct framing *framing);
bool framing_in_body(const struct framing *framing);

/* Writes the whole HTTP/1.1 answer to a fault (a problem document; it closes
 * the connection) with this identifier into out, without a NUL. Returns its
 * size, at most FRAMING_ANSWER_MAX; 0 if it does not fit into size or fault is
 * FRAMING_NO_FAULT. */
size_t framing_answer(enum framing_fault fault, const char *id, char *out,
                      size_t size);
/* The HTTP status that it answers. */
int framing_status(enum framing_fault fault);

#endif
