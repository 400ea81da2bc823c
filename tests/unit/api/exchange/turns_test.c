/* Which exchange has its turn next, by what the turns of each client took. */
#include "unit.h"

#include "exchange/exchange.h"
#include "exchange/turns.h"

enum { CLIENTS = 2, EXCHANGES = 64 };

struct fixture {
    struct turns turns;
    struct client_turns clients[CLIENTS];
    struct exchange *exchanges; /* the number of the client is in held */
    size_t used;
};

static int set_up(void **state)
{
    struct fixture *fixture = talloc_zero(NULL, struct fixture);
    fixture->exchanges = talloc_zero_array(fixture, struct exchange, EXCHANGES);
    turns_init(&fixture->turns);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    return talloc_free(*state);
}

static void add(struct fixture *fixture, unsigned client, bool starts)
{
    struct exchange *exchange = &fixture->exchanges[fixture->used++];
    exchange->held = client;
    exchange->begun = !starts;
    turns_add(&fixture->turns, &fixture->clients[client], exchange, starts);
}

/* Takes a turn that lasts so many times TURN_NS; returns whose it was. */
static unsigned take(struct fixture *fixture, double lasts)
{
    struct exchange *exchange = turns_take(&fixture->turns);
    assert_non_null(exchange);
    turns_charge(&fixture->turns, (uint64_t)(lasts * TURN_NS));
    return (unsigned)exchange->held;
}

TEST_WITH(client_with_long_turns_waits_for_short_ones, set_up, tear_down)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 10; i++)
        add(fixture, 0, true);
    assert_int_equal(take(fixture, 5), 0);
    for (int i = 0; i < 3; i++)
        add(fixture, 1, true);
    for (int i = 0; i < 3; i++)
        assert_int_equal(take(fixture, 1), 1);
    assert_int_equal(take(fixture, 1), 0);
}

TEST_WITH(equal_turns_alternate_between_clients, set_up, tear_down)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 10; i++)
        add(fixture, 0, true);
    for (int i = 0; i < 5; i++)
        add(fixture, 1, true);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(take(fixture, 1), i % 2);
    for (int i = 0; i < 5; i++)
        assert_int_equal(take(fixture, 1), 0);
    assert_null(turns_take(&fixture->turns));
    assert_int_equal(fixture->turns.count, 0);
}

TEST_WITH(short_turns_of_one_client_share_its_time, set_up, tear_down)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 10; i++)
        add(fixture, 0, true);
    add(fixture, 1, true);
    for (int i = 0; i < 4; i++)
        assert_int_equal(take(fixture, 0.25), 0);
    assert_int_equal(take(fixture, 0.25), 1);
}

TEST_WITH(begun_handlers_come_before_new_ones, set_up, tear_down)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 5; i++)
        add(fixture, 0, true);
    for (int i = 0; i < 5; i++)
        add(fixture, 0, false);
    for (int i = 0; i < 10; i++)
        assert_int_equal(turns_take(&fixture->turns)->begun, i < 5);
}

TEST_WITH(new_handlers_begin_beside_endless_ones, set_up, tear_down)
{
    struct fixture *fixture = *state;
    add(fixture, 0, true);
    add(fixture, 0, false);
    unsigned turns = 1;
    for (; turns_take(&fixture->turns)->begun; turns++)
        add(fixture, 0, false);
    assert_int_equal(turns, TURNS_A_START);
}
