/* Follows a stream from request to request and remembers where the last valid
 * one ended. In this order: the request line, header lines and trailers,
 * bodies, plain heads in one pass, the answer to each fault, and the loop over
 * the states. mhd_socket.c is the only user. One file because each step may
 * continue what any other has begun: the states belong together. */
#include "http1/framing.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "http/char_class.h"
#include "http/problem.h"
#include "kindex.h"
#include "net/httpdate.h"

/* A step consumes some of the bytes given, then enters another state or notes a
 * fault. A step keeps everything in struct framing, so that any step can be the
 * first for the next piece of the stream. */

/* In the order of a request; those before BODY are parts of a head. A name with
 * LF in it waits for the second half of a line's end. */
enum framing_state {
    START, /* between two requests */
    EMPTY_LF,
    METHOD,
    TARGET_BEGIN,
    SCHEME,
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

/* Bits for what the head has had; IN_TRAILERS is set once its lines have ended.
 */
enum framing_seen {
    HAS_HOST = 1,
    HAS_LENGTH = 2,
    HAS_ENCODING = 4,
    IS_1_1 = 8,
    IN_TRAILERS = 16
};

/* Consumes bytes of one state and of the states that follow; p < end. Returns
 * the first byte not consumed. */
typedef const uint8_t *step_fn(struct framing *f, const uint8_t *p,
                               const uint8_t *end);

/* The states of the request line. */
static step_fn framing_start, framing_empty_lf, framing_method,
    framing_target_begin, framing_scheme, framing_target, framing_target_end,
    framing_version;

/* Returns the first byte that is less than `least` or is DEL. Tests eight bytes
 * at a time: the top bit of each such byte is set in `odd`. A borrow can set
 * wrong bits only above the first such byte. */
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

/* Skips printable bytes, spaces and tabs. */
static inline const uint8_t *text(const uint8_t *p, const uint8_t *end)
{
    do
        p = printable(p, end, ' ');
    while (p < end && *p == '\t' && ++p < end);
    return p;
}

/* Notes a fault at p and enters REFUSED, which has no exit. */
static inline const uint8_t *refuse(struct framing *f, enum framing_fault fault,
                                    const uint8_t *p)
{
    f->fault = (uint8_t)fault;
    f->state = REFUSED;
    return p;
}

/* Enters another state with an empty element. */
static inline const uint8_t *enter(struct framing *f, enum framing_state state,
                                   const uint8_t *p)
{
    f->state = (uint8_t)state;
    f->span = 0;
    return p;
}

/* The fault for a control character within a line or a chunk header. */
static inline enum framing_fault line_fault(uint8_t byte,
                                            enum framing_fault other)
{
    return byte == '\r' || byte == '\n' ? FRAMING_BAD_LINE_END : other;
}

/* Handles the byte after a CR. */
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

/* The request line: method, target, version, with exactly one space between
 * them (RFC 9112 section 3). The target is a path, an http URL or `*`;
 * `host:port` (for tunnels) is refused. The meaning of method and target is not
 * checked here. */

static const char USUAL_VERSION[] = "HTTP/1.1\r\n";

/* HTTP/1.0 differs from the usual version in one byte. Another digit is an
 * unsupported version (505); other text is not a version (400). */
static enum framing_fault version_byte(struct framing *f, uint8_t byte)
{
    if (byte == (uint8_t)USUAL_VERSION[f->span]) {
        f->seen |= f->span == 7 ? IS_1_1 : 0;
        return FRAMING_NO_FAULT;
    }
    if (f->span == 7 && byte == '0')
        return FRAMING_NO_FAULT;
    return f->span < 5 ? FRAMING_BAD_REQUEST_LINE : FRAMING_UNKNOWN_VERSION;
}

/* Compares the whole rest of the line at once if this piece has it, otherwise
 * byte by byte. */
static const uint8_t *framing_version(struct framing *f, const uint8_t *p,
                                      const uint8_t *end)
{
    if (f->span == 0 && end - p >= 10 && memcmp(p, USUAL_VERSION, 10) == 0) {
        f->seen |= IS_1_1;
        return enter(f, LINE, p + 10);
    }
    for (; p < end && f->span < 8; p++, f->span++) {
        enum framing_fault fault = version_byte(f, *p);
        if (fault != FRAMING_NO_FAULT)
            return refuse(f, fault, p);
    }
    if (p == end)
        return p;
    return line_end(f, p, end, FRAMING_BAD_REQUEST_LINE);
}

static bool is_letter(uint8_t byte, char lower)
{
    return byte == (uint8_t)lower || byte == (uint8_t)(lower - 'a' + 'A');
}

/* Before the host of an absolute target: "http://" or "https://" in letters of
 * any case (RFC 9110 section 4.2.3). */
static const uint8_t *framing_scheme(struct framing *f, const uint8_t *p,
                                     const uint8_t *end)
{
    static const char HTTPS[] = "https://";
    enum { S_AT = 4, LETTERS = 5, SIZE = sizeof HTTPS - 1 };
    for (; p < end && f->span < SIZE; p++, f->span++) {
        if (f->span == S_AT && *p == ':')
            f->span++;
        bool good = f->span < LETTERS ? is_letter(*p, HTTPS[f->span])
                                      : *p == (uint8_t)HTTPS[f->span];
        if (!good)
            return refuse(f, line_fault(*p, FRAMING_BAD_TARGET), p);
    }
    return f->span < SIZE ? p : enter(f, TARGET, p);
}

static const uint8_t *framing_target_begin(struct framing *f, const uint8_t *p,
                                           const uint8_t *end)
{
    (void)end;
    if (*p == '/')
        return enter(f, TARGET, p);
    if (*p == '*')
        return enter(f, TARGET_END, p + 1);
    if (is_letter(*p, 'h'))
        return enter(f, SCHEME, p);
    return refuse(f, *p <= ' ' ? FRAMING_BAD_REQUEST_LINE : FRAMING_BAD_TARGET,
                  p);
}

/* Bytes above 127 are allowed: some clients send UTF-8 unescaped, and such
 * bytes do not affect where the request ends. */
static const uint8_t *framing_target(struct framing *f, const uint8_t *p,
                                     const uint8_t *end)
{
    const uint8_t *begin = p;
    p = printable(p, end, '!');
    f->span += (uint32_t)(p - begin);
    if (f->span > f->limits->target_max)
        return refuse(f, FRAMING_URI_TOO_LONG, p);
    if (p == end)
        return p;
    if (*p == ' ')
        return enter(f, VERSION, p + 1);
    return refuse(f,
                  *p == '\r' || *p == '\n' ? FRAMING_BAD_REQUEST_LINE
                                           : FRAMING_BAD_TARGET,
                  p);
}

static const uint8_t *framing_target_end(struct framing *f, const uint8_t *p,
                                         const uint8_t *end)
{
    (void)end;
    if (*p != ' ')
        return refuse(f, FRAMING_BAD_TARGET, p);
    return enter(f, VERSION, p + 1);
}

static const uint8_t *framing_method(struct framing *f, const uint8_t *p,
                                     const uint8_t *end)
{
    const uint8_t *begin = p;
    p = char_class_run(p, end, TOKEN);
    f->span += (uint32_t)(p - begin);
    if (f->span > FRAMING_METHOD_MAX)
        return refuse(f, FRAMING_BAD_METHOD, p);
    if (p == end)
        return p;
    if (*p != ' ' || f->span == 0)
        return refuse(f, line_fault(*p, FRAMING_BAD_METHOD), p);
    return enter(f, TARGET_BEGIN, p + 1);
}

/* Handles the first byte after a request. One empty line is allowed, because
 * old clients send it after a body. */
static const uint8_t *framing_start(struct framing *f, const uint8_t *p,
                                    const uint8_t *end)
{
    f->body_left = 0;
    f->body_total = 0;
    f->lines = 0;
    f->seen = 0;
    if (*p == '\r')
        return enter(f, EMPTY_LF, p + 1);
    enter(f, METHOD, p);
    return framing_method(f, p, end);
}

static const uint8_t *framing_empty_lf(struct framing *f, const uint8_t *p,
                                       const uint8_t *end)
{
    (void)end;
    return line_feed(f, p, METHOD);
}

/* The head of a request: headers, and the table of all states of a head; also
 * the trailers after a chunked body. Each state has a function that consumes a
 * run of bytes and continues directly in the next state while there are more
 * bytes; when the piece ends, struct framing has what is needed to continue.
 * Lengths are checked before the bytes that follow, so that no split changes
 * the verdict.
 *
 * It is stricter than RFC 9112 wherever two readers could differ: bare CR or
 * LF, folded lines (section 5.2), space before a colon (5.1), a length that is
 * not plain digits or occurs twice (6.3), a coding other than chunked (6.1). */

/* ---- Header values ------------------------------------------------------ */

/* The value of a header that does not affect framing: any printable bytes. */
static const uint8_t *value(struct framing *f, const uint8_t *p,
                            const uint8_t *end)
{
    p = text(p, end);
    if (p == end)
        return p;
    return line_end(f, p, end, FRAMING_BAD_HEADER_VALUE);
}

static const uint8_t *host_port(struct framing *f, const uint8_t *p,
                                const uint8_t *end)
{
    p = char_class_run(p, end, DIGIT);
    if (p == end)
        return p;
    return line_end(f, p, end, FRAMING_BAD_HOST);
}

/* Handles the bytes within the brackets of an address. */
static const uint8_t *host_literal(struct framing *f, const uint8_t *p,
                                   const uint8_t *end)
{
    const uint8_t *begin = p;
    p = char_class_run(p, end, LITERAL);
    f->span += (uint32_t)(p - begin);
    if (p == end)
        return p;
    if (*p != ']' || f->span == 0)
        return refuse(f, line_fault(*p, FRAMING_BAD_HOST), p);
    return enter(f, HOST_TAIL, p + 1);
}

static const uint8_t *host_tail(struct framing *f, const uint8_t *p,
                                const uint8_t *end)
{
    if (*p == ':')
        return enter(f, HOST_PORT, p + 1);
    return line_end(f, p, end, FRAMING_BAD_HOST);
}

/* A name, an IPv4 address or an IPv6 address in brackets, with an optional
 * port. An empty host is refused: every URI of this service has one. */
static const uint8_t *host(struct framing *f, const uint8_t *p,
                           const uint8_t *end)
{
    const uint8_t *begin = p;
    if (f->span == 0 && *p == '[')
        return enter(f, HOST_LITERAL, p + 1);
    p = char_class_run(p, end, NAMED);
    f->span += (uint32_t)(p - begin);
    if (p == end)
        return p;
    if (f->span == 0)
        return refuse(f, FRAMING_BAD_HOST, p);
    if (*p != ':')
        return line_end(f, p, end, FRAMING_BAD_HOST);
    enter(f, HOST_PORT, ++p);
    return host_port(f, p, end);
}

/* The fault for the byte after the digits: only CR is allowed, so no lists ("5,
 * 5") and no spaces. */
static enum framing_fault length_fault(const struct framing *f, uint8_t byte)
{
    if (byte != '\r' || f->span == 0)
        return FRAMING_BAD_LENGTH;
    if (f->span > FRAMING_LENGTH_DIGITS_MAX ||
        f->body_left > f->limits->body_max)
        return FRAMING_BODY_TOO_LARGE;
    return FRAMING_NO_FAULT;
}

/* Digits beyond FRAMING_LENGTH_DIGITS_MAX are counted but not added, so the
 * number cannot overflow. */
static const uint8_t *length(struct framing *f, const uint8_t *p,
                             const uint8_t *end)
{
    for (; p < end && (CHAR_CLASS[*p] & DIGIT) != 0; p++)
        if (++f->span <= FRAMING_LENGTH_DIGITS_MAX)
            f->body_left = f->body_left * 10 + (*p - '0');
    if (p == end)
        return p;
    enum framing_fault fault = length_fault(f, *p);
    if (fault != FRAMING_NO_FAULT)
        return refuse(f, fault, p);
    return line_end(f, p, end, FRAMING_BAD_LENGTH);
}

static const char CHUNKED[] = "chunked";

/* The fault for the first byte that differs from "chunked". Any other value is
 * refused: with a second coding readers could disagree about the length. */
static enum framing_fault encoding_fault(const struct framing *f, uint8_t byte)
{
    if (byte < ' ' && byte != '\r')
        return line_fault(byte, FRAMING_BAD_HEADER_VALUE);
    if (byte != '\r' || f->span < sizeof CHUNKED - 1)
        return FRAMING_UNKNOWN_ENCODING;
    return FRAMING_NO_FAULT;
}

static const uint8_t *encoding(struct framing *f, const uint8_t *p,
                               const uint8_t *end)
{
    while (p < end && f->span < sizeof CHUNKED - 1 &&
           (*p | 0x20) == CHUNKED[f->span]) {
        p++;
        f->span++;
    }
    if (p == end)
        return p;
    enum framing_fault fault = encoding_fault(f, *p);
    if (fault != FRAMING_NO_FAULT)
        return refuse(f, fault, p);
    return line_end(f, p, end, FRAMING_UNKNOWN_ENCODING);
}

/* Skips spaces before a value, then continues with the value. */
static const uint8_t *space(struct framing *f, const uint8_t *p,
                            const uint8_t *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (p == end)
        return p;
    f->state = f->field;
    if (f->field == VALUE)
        return value(f, p, end);
    return p;
}

/* ---- Header names ------------------------------------------------------- */

/* The headers that decide where a request ends. */
static const struct {
    const char *name;
    uint8_t size;
    uint8_t state; /* the state of its value */
    uint8_t bit;   /* its bit in `seen` */
    uint8_t again; /* the fault if it occurs twice */
} DECISIVE[] = {
    {"host", 4, HOST, HAS_HOST, FRAMING_TWO_HOSTS},
    {"content-length", 14, LENGTH, HAS_LENGTH, FRAMING_TWO_LENGTHS},
    {"transfer-encoding", 17, ENCODING, HAS_ENCODING, FRAMING_TWO_ENCODINGS},
};

/* The fault of a decisive header in its place, or none. Length and encoding
 * together are the classic means of smuggling (RFC 9112 section 6.1), so the
 * request is refused; neither takes precedence. */
static enum framing_fault admit(struct framing *f, uint8_t bit, uint8_t again)
{
    if ((f->seen & IN_TRAILERS) != 0)
        return FRAMING_BAD_TRAILER;
    if ((f->seen & bit) != 0)
        return (enum framing_fault)again;
    f->seen |= bit;
    if ((f->seen & HAS_LENGTH) != 0 && (f->seen & HAS_ENCODING) != 0)
        return FRAMING_LENGTH_AND_ENCODING;
    if (bit == HAS_ENCODING && (f->seen & IS_1_1) == 0)
        return FRAMING_ENCODING_IN_1_0;
    return FRAMING_NO_FAULT;
}

static enum framing_fault recognize(struct framing *f, const uint8_t *name,
                                    size_t size)
{
    for (size_t i = 0; i < sizeof DECISIVE / sizeof *DECISIVE; i++)
        if (size == DECISIVE[i].size &&
            strncasecmp((const char *)name, DECISIVE[i].name, size) == 0) {
            f->field = DECISIVE[i].state;
            return admit(f, DECISIVE[i].bit, DECISIVE[i].again);
        }
    return FRAMING_NO_FAULT;
}

/* Keeps the part of a name that this piece has, as far as it can matter. */
static void keep(struct framing *f, const uint8_t *begin, const uint8_t *p)
{
    size_t size = (size_t)(p - begin);
    if (f->span < sizeof f->name) {
        size_t room = sizeof f->name - f->span;
        memcpy(f->name + f->span, begin, size < room ? size : room);
    }
    f->span += (uint32_t)size;
}

static bool is_cookie(const uint8_t *name, size_t size)
{
    static const char cookie[] = "cookie";
    return size == sizeof cookie - 1 &&
           strncasecmp((const char *)name, cookie, size) == 0;
}

/* A name within one piece is compared in place. A split name is assembled in
 * f->name, which is larger than every name that matters, so that a longer name
 * is recognized as different. */
static const uint8_t *name(struct framing *f, const uint8_t *p,
                           const uint8_t *end)
{
    const uint8_t *begin = p;
    f->state = NAME;
    p = char_class_run(p, end, TOKEN);
    if (p == end || f->span != 0) {
        keep(f, begin, p);
        if (p == end)
            return p;
        begin = (const uint8_t *)f->name;
    }
    if (*p != ':')
        return refuse(f, FRAMING_BAD_HEADER_NAME, p);
    size_t size = f->span != 0 ? f->span : (size_t)(p - begin);
    if (f->span == 0 && is_cookie(begin, size))
        f->cookie = p - 1;
    f->field = VALUE;
    enum framing_fault fault = recognize(f, begin, size);
    if (fault != FRAMING_NO_FAULT)
        return refuse(f, fault, p);
    enter(f, SPACE, ++p);
    return p < end ? space(f, p, end) : p;
}

/* Handles the beginning of a header line, or the end of the head. */
static const uint8_t *line(struct framing *f, const uint8_t *p,
                           const uint8_t *end)
{
    if (*p == '\r')
        return enter(f, HEAD_LF, p + 1);
    if (*p == ' ' || *p == '\t')
        return refuse(f, FRAMING_FOLDED_HEADER, p);
    if ((CHAR_CLASS[*p] & TOKEN) == 0)
        return refuse(f, line_fault(*p, FRAMING_BAD_HEADER_NAME), p);
    if (++f->lines > f->limits->header_count_max)
        return refuse(f, FRAMING_HEADERS_TOO_LARGE, p);
    return name(f, p, end);
}

/* Called after the empty line; enters the state for the body that the head
 * announced. HTTP/1.1 must name a host (RFC 9112 section 3.2), HTTP/1.0 need
 * not. Without length and encoding there is no body (section 6.3). */
static const uint8_t *head_end(struct framing *f, const uint8_t *p,
                               const uint8_t *end)
{
    (void)end;
    if (*p != '\n')
        return refuse(f, FRAMING_BAD_LINE_END, p);
    if ((f->seen & (IS_1_1 | HAS_HOST)) == IS_1_1)
        return refuse(f, FRAMING_NO_HOST, p);
    p++;
    if ((f->seen & IN_TRAILERS) != 0)
        return enter(f, START, p);
    if ((f->seen & HAS_ENCODING) != 0)
        return enter(f, CHUNK_SIZE, p);
    return enter(f, f->body_left != 0 ? BODY : START, p);
}

static const uint8_t *line_lf(struct framing *f, const uint8_t *p,
                              const uint8_t *end)
{
    (void)end;
    return line_feed(f, p, LINE);
}

static step_fn *const STEPS[BODY] = {
    [START] = framing_start,
    [EMPTY_LF] = framing_empty_lf,
    [METHOD] = framing_method,
    [TARGET_BEGIN] = framing_target_begin,
    [SCHEME] = framing_scheme,
    [TARGET] = framing_target,
    [TARGET_END] = framing_target_end,
    [VERSION] = framing_version,
    [LINE_LF] = line_lf,
    [LINE] = line,
    [NAME] = name,
    [SPACE] = space,
    [VALUE] = value,
    [HOST] = host,
    [HOST_LITERAL] = host_literal,
    [HOST_TAIL] = host_tail,
    [HOST_PORT] = host_port,
    [LENGTH] = length,
    [ENCODING] = encoding,
    [HEAD_LF] = head_end,
};

/* Enforces the limit of the section by hiding the bytes beyond it, so that no
 * state has to count. */
static const uint8_t *framing_head(struct framing *f, const uint8_t *p,
                                   const uint8_t *end)
{
    const uint8_t *begin = p;
    uint32_t room = f->limits->headers_max - f->section;
    const uint8_t *stop = (size_t)(end - p) > room ? p + room : end;
    while (p < stop) {
        p = STEPS[f->state](f, p, stop);
        if (f->state == START || f->state >= BODY) {
            f->section = 0;
            return p;
        }
    }
    if (p < end)
        return refuse(f, FRAMING_HEADERS_TOO_LARGE, p);
    f->section += (uint32_t)(p - begin);
    return p;
}

/* The body of a request: bytes that are counted, or chunks (RFC 9112 sections
 * 6.2 and 7.1). Only its end matters; its contents are not inspected. After the
 * last chunk the states of header lines read the trailers. */

/* Skips the counted bytes that this piece has. */
static const uint8_t *skip(struct framing *f, const uint8_t *p,
                           const uint8_t *end, enum framing_state next)
{
    size_t size = (size_t)(end - p);
    if (size < f->body_left) {
        f->body_left -= size;
        return end;
    }
    p += f->body_left;
    f->body_left = 0;
    return enter(f, next, p);
}

/* The fault for the byte after the digits of a chunk size, or none. */
static enum framing_fault size_fault(const struct framing *f, uint8_t byte)
{
    if (f->span == 0 || (byte != '\r' && byte != ';'))
        return line_fault(byte, FRAMING_BAD_CHUNK);
    if (f->body_left > f->limits->body_max - f->body_total)
        return FRAMING_BODY_TOO_LARGE;
    return FRAMING_NO_FAULT;
}

/* Leading zeros count as digits, so that a size is bounded; 16 digits cannot
 * overflow. A nonzero size with more digits is too large. */
static const uint8_t *chunk_size(struct framing *f, const uint8_t *p,
                                 const uint8_t *end)
{
    int digit;
    for (; p < end && (digit = kx_hex_value(*p)) >= 0; p++) {
        if (++f->span > FRAMING_CHUNK_DIGITS_MAX)
            return refuse(f,
                          f->body_left != 0 ? FRAMING_BODY_TOO_LARGE
                                            : FRAMING_BAD_CHUNK,
                          p);
        f->body_left = f->body_left << 4 | (uint64_t)digit;
    }
    if (p == end)
        return p;
    enum framing_fault fault = size_fault(f, *p);
    if (fault != FRAMING_NO_FAULT)
        return refuse(f, fault, p);
    f->body_total += f->body_left;
    return enter(f, *p == ';' ? CHUNK_EXTENSION : CHUNK_LF, p + 1);
}

/* Extensions are ignored (RFC 9112 section 7.1.1 allows it) but bounded,
 * because a client could otherwise send them without end. */
static const uint8_t *chunk_extension(struct framing *f, const uint8_t *p,
                                      const uint8_t *end)
{
    const uint8_t *begin = p;
    p = text(p, end);
    f->span += (uint32_t)(p - begin);
    if (f->span > FRAMING_CHUNK_LINE_MAX)
        return refuse(f, FRAMING_BAD_CHUNK, p);
    if (p == end)
        return p;
    if (*p != '\r')
        return refuse(f, line_fault(*p, FRAMING_BAD_CHUNK), p);
    return enter(f, CHUNK_LF, p + 1);
}

/* A chunk of size zero is the last; trailer lines follow, counted from zero. */
static const uint8_t *chunk_lf(struct framing *f, const uint8_t *p)
{
    if (f->body_left != 0)
        return line_feed(f, p, CHUNK_DATA);
    f->seen |= IN_TRAILERS;
    f->lines = 0;
    return line_feed(f, p, LINE);
}

static const uint8_t *chunk_data_cr(struct framing *f, const uint8_t *p)
{
    if (*p != '\r')
        return refuse(f, line_fault(*p, FRAMING_BAD_CHUNK), p);
    return enter(f, CHUNK_DATA_LF, p + 1);
}

static const uint8_t *step(struct framing *f, const uint8_t *p,
                           const uint8_t *end)
{
    switch (f->state) {
    case BODY:
        return skip(f, p, end, START);
    case CHUNK_SIZE:
        return chunk_size(f, p, end);
    case CHUNK_EXTENSION:
        return chunk_extension(f, p, end);
    case CHUNK_LF:
        return chunk_lf(f, p);
    case CHUNK_DATA:
        return skip(f, p, end, CHUNK_DATA_CR);
    case CHUNK_DATA_CR:
        return chunk_data_cr(f, p);
    default: /* CHUNK_DATA_LF */
        return line_feed(f, p, CHUNK_SIZE);
    }
}

/* framing_head and framing_body consume bytes while the state belongs to them
 * and there is no fault. They return the first byte not consumed. */
static const uint8_t *framing_body(struct framing *f, const uint8_t *p,
                                   const uint8_t *end)
{
    while (p < end && f->state >= BODY && f->state != REFUSED)
        p = step(f, p, end);
    return p;
}

/* The fast path: most requests arrive as one whole, plainly valid head without
 * a body. The fast path accepts these in one pass without any state and leaves
 * all others to the state machine. It accepts only what the state machine would
 * accept. */

/* The piece ends with LF, which stops every loop here: LF is in no class, not
 * printable, and never expected before another byte. */
static inline const uint8_t *all(const uint8_t *p, enum char_class class)
{
    for (;; p += 4) {
        if ((CHAR_CLASS[p[0]] & class) == 0)
            return p;
        if ((CHAR_CLASS[p[1]] & class) == 0)
            return p + 1;
        if ((CHAR_CLASS[p[2]] & class) == 0)
            return p + 2;
        if ((CHAR_CLASS[p[3]] & class) == 0)
            return p + 3;
    }
}

static inline bool at(const uint8_t *p, const uint8_t *end, const char *text,
                      size_t size)
{
    return (size_t)(end - p) >= size && memcmp(p, text, size) == 0;
}

static inline const uint8_t *past_line_end(const uint8_t *p)
{
    return p[0] == '\r' && p[1] == '\n' ? p + 2 : NULL;
}

static inline const uint8_t *request_line(const struct framing_limits *limits,
                                          const uint8_t *p, const uint8_t *end)
{
    const uint8_t *begin = p;
    p = all(p, TOKEN);
    if (p == begin || p - begin > FRAMING_METHOD_MAX || p[0] != ' ' ||
        p[1] != '/')
        return NULL;
    begin = ++p;
    p = printable(p, end, '!');
    if ((size_t)(p - begin) > limits->target_max ||
        !at(p, end, " HTTP/1.1\r\n", 11))
        return NULL;
    return p + 11;
}

/* Accepts ": " and a name with or without a port; brackets are left to the
 * state machine. */
static inline const uint8_t *host_value(const uint8_t *p)
{
    if (p[0] != ':' || p[1] != ' ')
        return NULL;
    const uint8_t *begin = p += 2;
    p = all(p, NAMED);
    if (p == begin)
        return NULL;
    if (*p == ':')
        p = all(p + 1, DIGIT);
    return past_line_end(p);
}

static inline bool is_host(const uint8_t *name)
{
    static const uint8_t lower[4] = {'h', 'o', 's', 't'};
    uint32_t found;
    uint32_t wanted;
    memcpy(&found, name, 4);
    memcpy(&wanted, lower, 4);
    return (found | 0x20202020) == wanted;
}

/* Returns the end of a header line, or NULL to leave the head to the state
 * machine; *hosts counts the Host lines. Names as long as Content-Length and
 * Transfer-Encoding, and Cookie, are left to the state machine: comparing sizes
 * suffices (and one letter, because Accept is as long as Cookie). */
static inline const uint8_t *header_line(const uint8_t *p, const uint8_t *end,
                                         unsigned *hosts)
{
    const uint8_t *begin = p;
    p = all(p, TOKEN);
    size_t size = (size_t)(p - begin);
    if (size == 4 && is_host(begin)) {
        ++*hosts;
        return host_value(p);
    }
    if (*p != ':' || size == 0 || size == 14 || size == 17 ||
        (size == 6 && (*begin | 0x20) == 'c'))
        return NULL;
    p = printable(p, end, ' ');
    return past_line_end(p);
}

/* False for PUT, POST and PATCH, which have bodies, and for a piece that does
 * not end with a line, so cannot end with a head. */
static inline bool may_be_usual(const struct framing_limits *limits,
                                const uint8_t *p, const uint8_t *end)
{
    return *p != 'P' && end[-1] == '\n' &&
           (size_t)(end - p) <= limits->headers_max;
}

/* Returns the end of the head that begins at p if the piece has all of it and
 * the fast path accepts it. NULL leaves the head to the state machine. There is
 * at least one byte. */
static const uint8_t *framing_fast(const struct framing_limits *limits,
                                   const uint8_t *p, const uint8_t *end)
{
    unsigned hosts = 0;
    uint32_t lines = 0;
    if (!may_be_usual(limits, p, end))
        return NULL;
    p = request_line(limits, p, end);
    while (p != NULL && p < end && *p != '\r')
        p = lines++ < limits->header_count_max ? header_line(p, end, &hosts)
                                               : NULL;
    return p != NULL && p < end && hosts == 1 ? past_line_end(p) : NULL;
}

/* The answer to a fault of framing. It bypasses handlers and HTTP library and
 * is written straight to the socket, so it is a whole HTTP/1.1 message. Its
 * body is a problem document like any other. */

/* No detail has a character that JSON would escape. */
static const struct {
    enum problem_code code;
    const char *detail;
} FAULTS[FRAMING_FAULT_COUNT] = {
    [FRAMING_BAD_METHOD] = {PROBLEM_BAD_REQUEST,
                            "The request does not begin with a method of at "
                            "most 32 token characters and a space."},
    [FRAMING_BAD_TARGET] =
        {PROBLEM_BAD_REQUEST,
         "The request target must be a path that begins with a slash, or an "
         "http URL (or *), and contains no spaces or control characters."},
    [FRAMING_BAD_REQUEST_LINE] =
        {PROBLEM_BAD_REQUEST, "The request line must be: method, one space, "
                              "target, one space, HTTP/1.1."},
    [FRAMING_BAD_LINE_END] =
        {PROBLEM_BAD_REQUEST,
         "Every line must end with CR LF; this one has a CR or LF alone."},
    [FRAMING_BAD_HEADER_NAME] = {PROBLEM_BAD_REQUEST,
                                 "A header name must be token characters, with "
                                 "no space before the colon."},
    [FRAMING_BAD_HEADER_VALUE] =
        {PROBLEM_BAD_REQUEST, "A header value contains a control character."},
    [FRAMING_FOLDED_HEADER] = {PROBLEM_BAD_REQUEST,
                               "A header line begins with a space; folded "
                               "headers are not accepted."},
    [FRAMING_NO_HOST] = {PROBLEM_BAD_REQUEST,
                         "An HTTP/1.1 request needs a Host header."},
    [FRAMING_TWO_HOSTS] = {PROBLEM_BAD_REQUEST,
                           "The request has more than one Host header."},
    [FRAMING_BAD_HOST] = {PROBLEM_BAD_REQUEST,
                          "The Host header must be a name or an address, "
                          "with or without a port."},
    [FRAMING_BAD_LENGTH] = {PROBLEM_BAD_REQUEST,
                            "Content-Length must be digits only."},
    [FRAMING_TWO_LENGTHS] = {PROBLEM_BAD_REQUEST,
                             "The request has more than one Content-Length."},
    [FRAMING_LENGTH_AND_ENCODING] =
        {PROBLEM_BAD_REQUEST, "The request has both a Content-Length and a "
                              "Transfer-Encoding."},
    [FRAMING_TWO_ENCODINGS] =
        {PROBLEM_BAD_REQUEST,
         "The request has more than one Transfer-Encoding."},
    [FRAMING_ENCODING_IN_1_0] =
        {PROBLEM_BAD_REQUEST,
         "An HTTP/1.0 request cannot have a Transfer-Encoding."},
    [FRAMING_BAD_CHUNK] =
        {PROBLEM_BAD_REQUEST,
         "A chunk of the body is malformed; a chunk is: size in hex digits, "
         "extensions of at most 256 bytes, CR LF, that many bytes, CR LF."},
    [FRAMING_BAD_TRAILER] = {PROBLEM_BAD_REQUEST,
                             "Host, Content-Length and Transfer-Encoding are "
                             "not allowed after a chunked body."},
    [FRAMING_URI_TOO_LONG] = {PROBLEM_URI_TOO_LONG,
                              "The request target has more bytes than this "
                              "server accepts."},
    [FRAMING_HEADERS_TOO_LARGE] = {PROBLEM_HEADERS_TOO_LARGE,
                                   "The headers have more bytes or more lines "
                                   "than this server accepts."},
    [FRAMING_BODY_TOO_LARGE] = {PROBLEM_PAYLOAD_TOO_LARGE,
                                "The body has more bytes than this server "
                                "accepts for any request."},
    [FRAMING_UNKNOWN_ENCODING] =
        {PROBLEM_TRANSFER_ENCODING_UNSUPPORTED,
         "The only accepted Transfer-Encoding is: chunked."},
    [FRAMING_UNKNOWN_VERSION] =
        {PROBLEM_HTTP_VERSION_UNSUPPORTED,
         "The version of the request is neither HTTP/1.0 nor HTTP/1.1."},
    [FRAMING_SLOW_HEAD] = {PROBLEM_REQUEST_TIMEOUT,
                           "The headers of the request did not arrive in time "
                           "(--header-timeout)."},
    [FRAMING_SLOW_BODY] =
        {PROBLEM_REQUEST_TIMEOUT,
         "The body of the request did not arrive in time (--body-timeout)."},
    [FRAMING_STALLED_BODY] =
        {PROBLEM_REQUEST_TIMEOUT,
         "The body of the request came at less than 8 KiB a second while other "
         "requests needed what it held (--bodies-max, --requests-max)."},
};

/* The reason phrases (RFC 9110 section 15) of the statuses in FAULTS. */
static const char *phrase(int status)
{
    switch (status) {
    case 408:
        return "Request Timeout";
    case 413:
        return "Content Too Large";
    case 414:
        return "URI Too Long";
    case 431:
        return "Request Header Fields Too Large";
    case 501:
        return "Not Implemented";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return "Bad Request";
    }
}

int framing_status(enum framing_fault fault)
{
    return problem_row(FAULTS[fault].code)->status;
}

size_t framing_answer(enum framing_fault fault, const char *id, char *out,
                      size_t size)
{
    char body[FRAMING_ANSWER_MAX];
    char answer[FRAMING_ANSWER_MAX];
    if (fault == FRAMING_NO_FAULT)
        return 0;
    const struct problem_row *row = problem_row(FAULTS[fault].code);
    int body_size =
        snprintf(body, sizeof body,
                 "{\"type\":\"/problems/%s\",\"title\":\"%s\",\"status\":%d,"
                 "\"code\":\"%s\",\"detail\":\"%s\",\"hint\":\"%s\"}",
                 row->code, row->title, row->status, row->code,
                 FAULTS[fault].detail, row->hint);
    int answer_size = snprintf(
        answer, sizeof answer,
        "HTTP/1.1 %d %s\r\nDate: %s\r\nConnection: close\r\n"
        "Content-Type: application/problem+json\r\n"
        "Cross-Origin-Resource-Policy: same-origin\r\n"
        "X-Request-Id: %s\r\nContent-Length: %d\r\n\r\n%s",
        row->status, phrase(row->status), httpdate_now(), id, body_size, body);
    if ((size_t)answer_size > size || (size_t)answer_size >= sizeof answer)
        return 0;
    memcpy(out, answer, (size_t)answer_size);
    return (size_t)answer_size;
}

void framing_init(struct framing *framing, const struct framing_limits *limits)
{
    *framing = (struct framing){.limits = limits, .state = START};
}

/* Makes at least one step: always consumes a byte or notes a fault. */
static const uint8_t *follow(struct framing *f, const uint8_t *p,
                             const uint8_t *end)
{
    if (f->state == START) {
        const uint8_t *next = framing_fast(f->limits, p, end);
        if (next != NULL)
            return next;
    }
    return f->state < BODY ? framing_head(f, p, end) : framing_body(f, p, end);
}

size_t framing_feed(struct framing *framing, const uint8_t *data, size_t size,
                    enum framing_fault *fault_out)
{
    const uint8_t *p = data;
    const uint8_t *end = data + size;
    const uint8_t *good = data;
    framing->cookie = NULL;
    while (p < end && framing->state != REFUSED) {
        p = follow(framing, p, end);
        if (framing->state == START) {
            framing->requests++;
            good = p;
        }
    }
    *fault_out = (enum framing_fault)framing->fault;
    if (framing->state != REFUSED)
        good = end;
    return (size_t)(good - data);
}

/* Trailers are lines like those of a head, but part of the body. */
static bool in_trailers(const struct framing *f)
{
    return (f->seen & IN_TRAILERS) != 0;
}

bool framing_in_head(const struct framing *framing)
{
    return framing->state > EMPTY_LF && framing->state < BODY &&
           !in_trailers(framing);
}

bool framing_in_body(const struct framing *framing)
{
    return framing->state > EMPTY_LF && framing->state < REFUSED &&
           !framing_in_head(framing);
}
