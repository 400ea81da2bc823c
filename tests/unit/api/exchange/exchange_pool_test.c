/* Exchanges that are used again. */
#include "exchange_house.h"

#include <stddef.h>

/* The kept one is as a new one is: all that the request has set is reset. */
TEST_WITH(reused_exchange_is_reset, begin_house, finish_house)
{
    static struct request empty;
    struct exchange *first = get("/list?prefix=a", EXCHANGE_REPLY);
    first->request.advice = "{}";
    first->request.wait.until_ns = 1;
    exchange_end(first);
    struct exchange *next = exchange_begin(&house->queue, NULL);
    assert_ptr_equal(next, first);
    empty.service = &house->service;
    empty.reader = house->queue.reader;
    empty.memory = next->request.memory;
    empty.wait.ticket.owner = next;
    assert_memory_equal(&next->request, &empty,
                        offsetof(struct request, commit));
    assert_int_equal(talloc_total_blocks(empty.memory), 1);
    exchange_end(next);
}
