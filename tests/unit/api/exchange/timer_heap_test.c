/* Alarms against a plain table of times: the next one is always the right one,
 * for any order of setting and clearing. */
#include "unit.h"

#include "exchange/timer_heap.h"

#include <stdbool.h>
#include <stdlib.h>

enum { COUNT = 200, STEPS = 100000, TIMES = 500 };

static uint64_t next_time(const struct alarm *alarms)
{
    uint64_t next = UINT64_MAX;
    for (int i = 0; i < COUNT; i++)
        if (alarms[i].link != NULL && alarms[i].at_ns < next)
            next = alarms[i].at_ns;
    return next;
}

TEST(timer_heap_always_has_the_earliest_first)
{
    static struct alarm all[COUNT];
    struct timer_heap alarms = {.first = NULL};
    srandom(7);
    for (int step = 0; step < STEPS; step++) {
        struct alarm *alarm = &all[random() % COUNT];
        if (alarm->link == NULL)
            timer_heap_set(&alarms, alarm, (uint64_t)(random() % TIMES));
        else
            timer_heap_clear(&alarms, alarm);
        uint64_t next = next_time(all);
        if (next == UINT64_MAX)
            assert_null(alarms.first);
        else
            assert_int_equal(alarms.first->at_ns, next);
    }
}

/* Takes the first alarm and sets it again, later, as a loop does. */
TEST(timer_heap_returns_alarms_in_order)
{
    static struct alarm all[COUNT];
    struct timer_heap alarms = {.first = NULL};
    uint64_t now = 0;
    for (uint64_t i = 0; i < COUNT; i++)
        timer_heap_set(&alarms, &all[i], i * 37 % COUNT);
    for (int turn = 0; turn < 10 * COUNT; turn++) {
        struct alarm *first = alarms.first;
        assert_true(first->at_ns >= now);
        now = first->at_ns;
        timer_heap_clear(&alarms, first);
        timer_heap_set(&alarms, first, now + COUNT);
    }
    assert_int_equal(now, 10 * COUNT - 1);
}

TEST(alarm_that_is_not_set_may_be_cleared)
{
    struct timer_heap alarms = {.first = NULL};
    struct alarm alarm = {.link = NULL};
    timer_heap_clear(&alarms, &alarm);
    timer_heap_set(&alarms, &alarm, 1);
    timer_heap_clear(&alarms, &alarm);
    timer_heap_clear(&alarms, &alarm);
    assert_null(alarms.first);
}
