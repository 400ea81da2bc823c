/* What the parts of the framing state machine share: the states, and the few
 * steps that several take. A step takes some of the bytes it is given, goes to
 * another state, or notes a fault, and leaves all it knows in struct framing;
 * so any of them can be the first of a piece. For framing*.c only. */
#ifndef API_FRAMING_STATE_H
#define API_FRAMING_STATE_H

#include <endian.h>
#include <string.h>

#include "http/char_class.h"
#include "http1/framing.h"

/* In the order of a request; those before BODY are parts of a head. A name with
 * LF in it waits for the second half of a line's end. */
enum framing_state {
    START, /* between two requests */
    EMPTY_LF,
    METHOD,
    TARGET_BEGIN,
    TARGET,
    TARGET_END,
    VERSION,
    LINE_LF,
    LINE,
    NAME,
    SPACE,
    VALUE,
    HOST,
    HOST_LITERAL,
    HOST_TAIL,
    HOST_PORT,
    LENGTH,
    ENCODING,
    HEAD_LF,
    BODY,
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK_LF,
    CHUNK_DATA,
    CHUNK_DATA_CR,
    CHUNK_DATA_LF,
    REFUSED
};

/* What the head had, as bits; IN_TRAILERS says that its lines have ended. */
enum framing_seen {
    HAS_HOST = 1,
    HAS_LENGTH = 2,
    HAS_ENCODING = 4,
    IS_1_1 = 8,
    IN_TRAILERS = 16
};

/* Takes bytes of one state, and of those that follow it: p < end at the call;
 * returns the first byte not taken. */
typedef const uint8_t *step_fn(struct framing *f, const uint8_t *p,
                               const uint8_t *end);

/* The states of the request line. */
step_fn framing_start, framing_empty_lf, framing_method, framing_target_begin,
    framing_target, framing_target_end, framing_version;

/* Take bytes as long as the state is of their half, there are any, and nothing
 * is wrong; return the first byte not taken. */
const uint8_t *framing_head(struct framing *f, const uint8_t *p,
                            const uint8_t *end);
const uint8_t *framing_body(struct framing *f, const uint8_t *p,
                            const uint8_t *end);

/* Past a head that is whole in these bytes (at least one), has no body, and
 * needs no state to be found good; NULL for any other, which may be good. */
const uint8_t *framing_fast(const struct framing_limits *limits,
                            const uint8_t *p, const uint8_t *end);

/* The first byte that is less than `least` or DEL. Eight at a time: a byte's
 * top bit is set in `odd` when it is such a byte. What a borrow spoils lies
 * above the first of them. */
static inline const uint8_t *printable(const uint8_t *p, const uint8_t *end,
                                       uint8_t least)
{
    const uint64_t each = 0x0101010101010101;
    uint64_t word;
    for (size_t words = (size_t)(end - p) / 8; words > 0; words--, p += 8) {
        memcpy(&word, p, sizeof word);
        word = le64toh(word);
        uint64_t odd = ((word - each * least) | ((word ^ each * 127) - each)) &
                       ~word & each * 128;
        if (odd != 0)
            return p + __builtin_ctzll(odd) / 8;
    }
    while (p < end && *p >= least && *p != 127)
        p++;
    return p;
}

/* Past printable bytes, spaces and tabs. */
static inline const uint8_t *text(const uint8_t *p, const uint8_t *end)
{
    do
        p = printable(p, end, ' ');
    while (p < end && *p == '\t' && ++p < end);
    return p;
}

/* Notes a fault at p. There is no way out of REFUSED. */
static inline const uint8_t *refuse(struct framing *f, enum framing_fault fault,
                                    const uint8_t *p)
{
    f->fault = (uint8_t)fault;
    f->state = REFUSED;
    return p;
}

/* Continues in another state, whose element has no bytes yet. */
static inline const uint8_t *enter(struct framing *f, enum framing_state state,
                                   const uint8_t *p)
{
    f->state = (uint8_t)state;
    f->span = 0;
    return p;
}

/* What a control character within a line or a body frame is called. */
static inline enum framing_fault line_fault(uint8_t byte,
                                            enum framing_fault other)
{
    return byte == '\r' || byte == '\n' ? FRAMING_BAD_LINE_END : other;
}

/* The byte after a CR. */
static inline const uint8_t *line_feed(struct framing *f, const uint8_t *p,
                                       enum framing_state next)
{
    if (*p != '\n')
        return refuse(f, FRAMING_BAD_LINE_END, p);
    return enter(f, next, p + 1);
}

/* p is at the CR that ends a header line, or at something else. */
static inline const uint8_t *line_end(struct framing *f, const uint8_t *p,
                                      const uint8_t *end,
                                      enum framing_fault other)
{
    if (*p != '\r')
        return refuse(f, line_fault(*p, other), p);
    if (++p == end)
        return enter(f, LINE_LF, p);
    return line_feed(f, p, LINE);
}

#endif
