/* Follows a stream from request to request and remembers where the last good
 * one ended. */
#include "framing_state.h"

void framing_init(struct framing *framing, const struct framing_limits *limits)
{
    *framing = (struct framing){.limits = limits, .state = START};
}

static const uint8_t *follow(struct framing *f, const uint8_t *p,
                             const uint8_t *end)
{
    if (f->state == START) {
        const uint8_t *next = framing_usual(f->limits, p, end);
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
