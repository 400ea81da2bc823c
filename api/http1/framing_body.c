/* The body of a request: bytes that are counted, or chunks (RFC 9112 sections
 * 6.2 and 7.1). Its contents are not looked at; only its end matters. After the
 * last chunk framing_head.c reads the trailers. */
#include "http1/framing_state.h"
#include "kindex.h"

/* Past the counted bytes, as far as they are in this piece. */
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

/* The byte after the digits of a chunk size. */
static enum framing_fault size_fault(const struct framing *f, uint8_t byte)
{
    if (f->span == 0 || (byte != '\r' && byte != ';'))
        return line_fault(byte, FRAMING_BAD_CHUNK);
    if (f->body_left > f->limits->body_max - f->body_total)
        return FRAMING_BODY_TOO_LARGE;
    return FRAMING_NO_FAULT;
}

/* Leading zeros count as digits, so that a size has an end; 16 digits cannot
 * overflow. With more of them, a number that is not zero is simply too
 * large. */
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

/* Extensions mean nothing here (RFC 9112 section 7.1.1 lets them be ignored),
 * but are bounded: they would be a way to send without end. */
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

/* A size of zero ends the chunks; trailer lines follow, counted from zero. */
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

const uint8_t *framing_body(struct framing *f, const uint8_t *p,
                            const uint8_t *end)
{
    while (p < end && f->state >= BODY && f->state != REFUSED)
        p = step(f, p, end);
    return p;
}
