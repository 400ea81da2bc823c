/* The head of a request: headers, and the table of all states of a head; also
 * the trailers after a chunked body. Each state has a function that takes a run
 * of bytes and goes straight on to the next state while there are more; where
 * the piece ends, what is needed to continue stays in struct framing. Lengths
 * are checked before what follows them, so that no split changes the verdict.
 *
 * Stricter than RFC 9112 asks for wherever two readers could differ: bare CR or
 * LF, folded lines (section 5.2), space before a colon (5.1), a length that is
 * not plain digits or is there twice (6.3), a coding other than chunked
 * (6.1). */
#include "http1/framing_state.h"

/* ---- Header values ------------------------------------------------------ */

/* Of a header that says nothing about the framing: any printable bytes. */
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

/* Within the brackets of an address. */
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

/* A name, an IPv4 address or, in brackets, an IPv6 address, then perhaps a
 * port. Empty is refused: no URI of this service lacks its host. */
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

/* The byte after the digits, which are all taken: only CR may stand there, so
 * no lists ("5, 5") and no spaces. */
static enum framing_fault length_fault(const struct framing *f, uint8_t byte)
{
    if (byte != '\r' || f->span == 0)
        return FRAMING_BAD_LENGTH;
    if (f->span > FRAMING_LENGTH_DIGITS_MAX ||
        f->body_left > f->limits->body_max)
        return FRAMING_BODY_TOO_LARGE;
    return FRAMING_NO_FAULT;
}

/* Digits past FRAMING_LENGTH_DIGITS_MAX are counted, not added: no overflow. */
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

/* The first byte that is not of that word. Anything but the word alone is
 * refused: a second coding would make the length a matter of opinion. */
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

/* Spaces before a value, then the value. */
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
    uint8_t state; /* of the value */
    uint8_t bit;   /* in seen */
    uint8_t again; /* the fault when it is there twice */
} DECISIVE[] = {
    {"host", 4, HOST, HAS_HOST, FRAMING_TWO_HOSTS},
    {"content-length", 14, LENGTH, HAS_LENGTH, FRAMING_TWO_LENGTHS},
    {"transfer-encoding", 17, ENCODING, HAS_ENCODING, FRAMING_TWO_ENCODINGS},
};

/* Whether a decisive header may stand where it does. Length and encoding
 * together are the classic way of smuggling (RFC 9112 section 6.1): refused,
 * and not resolved in favour of one. */
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

/* Keeps the part of a name that is in this piece, as far as it matters. */
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

/* A name within one piece is looked at in place; one that is split is put
 * together in f->name, which is larger than every name that matters, so that a
 * longer name is told apart. */
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

/* The beginning of a header line, or the end of the head. */
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

/* After the empty line: what the head said about the body. HTTP/1.1 must name a
 * host (RFC 9112 section 3.2), HTTP/1.0 need not. Without length and encoding
 * there is no body (section 6.3). */
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

/* The limit of the section is kept by hiding the bytes that lie past it: no
 * state has to count. */
const uint8_t *framing_head(struct framing *f, const uint8_t *p,
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
