/* The request line: method, target, version, with exactly one space between
 * them (RFC 9112 section 3). A whole URL as the target is for proxies, and
 * `host:port` for tunnels; neither is taken. What the method and the target
 * mean is not asked here. */
#include "http1/framing_state.h"

static const char USUAL_VERSION[] = "HTTP/1.1\r\n";

/* HTTP/1.0 differs from the usual version in one byte. Another digit is a
 * version that is not served (505), other text no version at all (400). */
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

/* The whole end of the line at once where it is in this piece, else byte by
 * byte. */
const uint8_t *framing_version(struct framing *f, const uint8_t *p,
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

const uint8_t *framing_target_begin(struct framing *f, const uint8_t *p,
                                    const uint8_t *end)
{
    (void)end;
    if (*p == '/')
        return enter(f, TARGET, p);
    if (*p == '*')
        return enter(f, TARGET_END, p + 1);
    return refuse(f, *p <= ' ' ? FRAMING_BAD_REQUEST_LINE : FRAMING_BAD_TARGET,
                  p);
}

/* Bytes over 127 pass: some clients send UTF-8 unescaped, and it has no bearing
 * on where the request ends. */
const uint8_t *framing_target(struct framing *f, const uint8_t *p,
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

const uint8_t *framing_target_end(struct framing *f, const uint8_t *p,
                                  const uint8_t *end)
{
    (void)end;
    if (*p != ' ')
        return refuse(f, FRAMING_BAD_TARGET, p);
    return enter(f, VERSION, p + 1);
}

const uint8_t *framing_method(struct framing *f, const uint8_t *p,
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

/* The first byte after a request. One empty line is let through: old clients
 * send it after a body. */
const uint8_t *framing_start(struct framing *f, const uint8_t *p,
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

const uint8_t *framing_empty_lf(struct framing *f, const uint8_t *p,
                                const uint8_t *end)
{
    (void)end;
    return line_feed(f, p, METHOD);
}
