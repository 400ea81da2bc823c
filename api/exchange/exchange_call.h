/* The calls of handlers (request.h): a handler runs on a fiber, which parks for
 * each of them. Each call is begun and completed on the loop's own stack: a
 * fiber's stack is too small for reading rows, and the loop's thread may do the
 * writer's work. For exchange*.c and the workers only. */
#ifndef API_EXCHANGE_CALL_H
#define API_EXCHANGE_CALL_H

#include "exchange/exchange.h"

/* The result of one step of a call. */
enum call_step {
    CALL_RETURNS, /* the handler continues: `returns` is what it gets */
    CALL_PARKS,   /* the exchange waits; the next step follows when the wait has
                   * ended */
    CALL_SENDS    /* the reply has a part for the client */
};

/* Lies on the stack of the fiber that is parked for it. */
struct handler_call {
    /* The next step of the call, after this wait; the first one follows
     * AWAITS_NOTHING. On the loop's own stack. */
    enum call_step (*step)(struct exchange *exchange, struct handler_call *call,
                           enum exchange_awaits ended);
    section_fn *section;
    work_fn *work;
    struct stream *stream;
    void *arg;
    bool returns;
};

/* Makes a fiber for the handler of the request: the route's handler, or the
 * handler that forwards to the active node. False: memory ran out. */
bool exchange_call_begin(struct exchange *exchange);

enum handler_state {
    HANDLER_PARKS, /* the exchange waits for the event in exchange->awaits */
    HANDLER_SENDS, /* it waits until a part of the reply was taken */
    HANDLER_ENDS   /* the reply is complete, but for its flush */
};

/* Continues the handler after a wait; after AWAITS_NOTHING it begins. */
enum handler_state exchange_call_continue(struct exchange *exchange,
                                          enum exchange_awaits ended);
/* Drops the handler, if there is one, wherever it is parked. */
void exchange_call_drop(struct exchange *exchange);

/* Called on a worker, which has set request.reader: runs the section, the work
 * or the slice of a stream that the exchange waits for. view: the reader holds
 * a view. Without a view the reply is a problem, and a stream is broken off,
 * unless the route needs no rows (node_is_local). */
void exchange_call_serve(struct exchange *exchange, bool view);

#endif
