/* One list for heads and one for bodies: within a list all time limits are
 * equal, so the socket added last is due last. */
#include "http1/http1_deadline.h"

#include "kindex.h"

TAILQ_HEAD(deadlines, http1_deadline);

enum { PARTS = HTTP1_BODY + 1 };

static _Thread_local struct deadlines lists[PARTS];

static uint64_t allowed_ns[PARTS];

void http1_deadline_start(uint64_t head_ms, uint64_t body_ms)
{
    allowed_ns[HTTP1_HEAD] = head_ms * KX_MS_NS;
    allowed_ns[HTTP1_BODY] = body_ms * KX_MS_NS;
}

void http1_deadline_set(struct http1_deadline *deadline, enum http1_part part)
{
    struct deadlines *list = &lists[part];
    if (deadline->part != HTTP1_NOTHING)
        TAILQ_REMOVE(&lists[deadline->part], deadline, order);
    deadline->part = part;
    if (part == HTTP1_NOTHING)
        return;
    deadline->at_ns = kx_monotonic_ns() + allowed_ns[part];
    if (list->tqh_last == NULL)
        TAILQ_INIT(list);
    TAILQ_INSERT_TAIL(list, deadline, order);
}

struct http1_deadline *http1_deadline_expired(uint64_t now_ns)
{
    for (int part = HTTP1_HEAD; part < PARTS; part++) {
        struct http1_deadline *first = TAILQ_FIRST(&lists[part]);
        if (first != NULL && first->at_ns <= now_ns)
            return first;
    }
    return NULL;
}

uint64_t http1_deadline_next(void)
{
    uint64_t next = 0;
    for (int part = HTTP1_HEAD; part < PARTS; part++) {
        const struct http1_deadline *first = TAILQ_FIRST(&lists[part]);
        if (first != NULL && (next == 0 || first->at_ns < next))
            next = first->at_ns;
    }
    return next;
}
