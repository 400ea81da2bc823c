/* The fast path: most requests come as a whole head in one piece, without a
 * body, and nothing about them is in doubt. They are taken in one pass without
 * any state. All others are left to the state machine. The fast path accepts
 * only what the state machine would accept. */
#include "http1/framing_state.h"

/* The piece ends with LF, so that nothing here runs past its end: LF is in no
 * class, not printable, and not what may stand before another byte. */
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

/* ": " and a name with or without a port; brackets are left to the machine. */
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

/* Past a header line; *hosts counts the Host lines. NULL also for names as long
 * as Content-Length and Transfer-Encoding, and for Cookie: comparing sizes (and
 * a letter, for Accept is as long) is enough to leave those to the state
 * machine. */
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

/* PUT, POST and PATCH have bodies. A piece that does not end with a line does
 * not end with a head. */
static inline bool may_be_usual(const struct framing_limits *limits,
                                const uint8_t *p, const uint8_t *end)
{
    return *p != 'P' && end[-1] == '\n' &&
           (size_t)(end - p) <= limits->headers_max;
}

const uint8_t *framing_fast(const struct framing_limits *limits,
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
