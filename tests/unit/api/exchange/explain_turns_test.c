/* POST /explain on many indexes: each that has a request is a turn, so that
 * others are answered between them, and what a turn needs is freed. */
#include "exchange_house.h"

#include <talloc.h>

#include "exchange/exchange_loop.h"

enum { INDEXES = 8, VALUES = 64, TURN_MEMORY = 1024 };

static void declare_indexes(void)
{
    for (int i = 0; i < INDEXES; i++) {
        unsigned ready = house->ready;
        const char *body = talloc_asprintf(
            house->mem,
            "{\"name\":\"i%d\",\"prefix\":[\"e\"],\"fields\":[\"/x\"]}", i);
        struct exchange *exchange =
            start(METHOD_POST, "/indexes", kx_text(body), EXCHANGE_PARK);
        wait_for_ready(ready + 1);
        assert_reply(exchange, 201, "\"state\":\"ready\"");
    }
}

static char *query_of_values(void)
{
    char *query = talloc_strdup(
        house->mem, "{\"prefix\":[\"e\"],\"where\":{\"path\":\"/x\",\"in\":[");
    for (int i = 0; i < VALUES; i++)
        query = talloc_asprintf_append(query, "%s\"value %d\"",
                                       i > 0 ? "," : "", i);
    return talloc_asprintf_append(query, "]}}");
}

TEST_WITH(explain_takes_a_turn_for_each_index, begin_house, finish_house)
{
    declare_indexes();
    struct exchange *exchange = start(
        METHOD_POST, "/explain", kx_text(query_of_values()), EXCHANGE_PARK);
    size_t memory = talloc_total_size(exchange->request.memory);
    unsigned turns = 1;
    for (; exchange->phase != EXCHANGE_READY; turns++) {
        assert_int_equal(exchange->awaits, AWAITS_TURN);
        struct exchange *other = get("/kv/a", EXCHANGE_REPLY);
        assert_reply(other, 200, "1");
        exchange_loop_turns(&house->queue);
    }
    assert_int_equal(turns, INDEXES);
    assert_in_range(talloc_total_size(exchange->request.memory), 0,
                    memory + INDEXES * TURN_MEMORY);
    assert_reply(exchange, 200, "\"index\":\"i0\"");
}

TESTS_SHARE(memory_open, memory_close)
