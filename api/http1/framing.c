/* Follows a stream from request to request and remembers where the last valid
 * one ended. The work is divided by what is being read: framing_fast.c takes
 * the plain heads in one pass, framing_head.c and framing_request.c all others,
 * framing_body.c bodies; framing_state.h is what they share. mhd_socket.c is
 * the only user. */
#include "http1/framing_state.h"

void framing_init(struct framing *framing, const struct framing_limits *limits)
{
    *framing = (struct framing){.limits = limits, .state = START};
}

/* At least one step: always takes a byte or notes a fault. */
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
