/* The short way: most requests are a whole head in one piece, without a body,
 * and nothing about them is in doubt. They are taken in one pass without any
 * state. Whatever looks different is left to the state machine, whose verdicts
 * these must always be. */
#include "framing_state.h"

static inline bool at(const uint8_t *p, const uint8_t *end, const char *text,
                      size_t size)
{
    return (size_t)(end - p) >= size && memcmp(p, text, size) == 0;
}

static const uint8_t *request_line(const struct framing_limits *limits,
                                   const uint8_t *p, const uint8_t *end)
{
    const uint8_t *begin = p;
    p = run(p, end, TOKEN);
    if (p == begin || p - begin > FRAMING_METHOD_MAX || !at(p, end, " /", 2))
        return NULL;
    begin = ++p;
    p = printable(p, end, '!');
    if ((size_t)(p - begin) > limits->target_max ||
        !at(p, end, " HTTP/1.1\r\n", 11))
        return NULL;
    return p + 11;
}

/* p is at the line's colon. */
static inline const uint8_t *host_value(const uint8_t *p, const uint8_t *end)
{
    if (!at(p, end, ": ", 2))
        return NULL;
    const uint8_t *begin = p += 2;
    p = run(p, end, NAMED);
    if (p == begin)
        return NULL;
    if (p < end && *p == ':')
        p = run(p + 1, end, DIGIT);
    return at(p, end, "\r\n", 2) ? p + 2 : NULL;
}

/* Past a header line; *hosts counts the Host lines. NULL for other headers
 * that the state machine looks at, going by the length of their names. */
static inline const uint8_t *header_line(const uint8_t *p, const uint8_t *end,
                                         unsigned *hosts)
{
    const uint8_t *begin = p;
    p = run(p, end, TOKEN);
    if (p == end || *p != ':')
        return NULL;
    switch (p - begin) {
    case 4:
        if (strncasecmp((const char *)begin, "host", 4) == 0) {
            ++*hosts;
            return host_value(p, end);
        }
        break;
    case 0:
    case 14:
    case 17:
        return NULL;
    default:
        break;
    }
    p = printable(p, end, ' ');
    return at(p, end, "\r\n", 2) ? p + 2 : NULL;
}

const uint8_t *framing_usual(const struct framing_limits *limits,
                             const uint8_t *p, const uint8_t *end)
{
    unsigned hosts = 0;
    if ((size_t)(end - p) > limits->headers_max)
        end = p + limits->headers_max;
    p = request_line(limits, p, end);
    for (uint32_t lines = 0; p != NULL && lines <= limits->header_count_max;
         lines++) {
        if (at(p, end, "\r\n", 2))
            return hosts == 1 ? p + 2 : NULL;
        p = header_line(p, end, &hosts);
    }
    return NULL;
}
