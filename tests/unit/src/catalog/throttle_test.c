/* How much may be worked on when: by a clock that is given. */
#include "catalog/throttle.h"
#include "unit.h"

TEST(throttle_without_limit_allows_everything)
{
    struct throttle pace = {.paused = false};
    assert_true(throttle_free(&pace));
    assert_true(throttle_allowance(&pace, 5000) == SIZE_MAX);
    throttle_spend(&pace, 1000000, 5000);
    assert_true(throttle_allowance(&pace, 5000) == SIZE_MAX);
    assert_int_equal(throttle_due_ms(&pace, 5000), 5000);
}

TEST(paused_throttle_is_never_due)
{
    struct throttle pace = {.paused = true, .per_second = 10};
    assert_false(throttle_free(&pace));
    assert_int_equal(throttle_allowance(&pace, 5000), 0);
    assert_true(throttle_due_ms(&pace, 5000) == INT64_MAX);
}

/* Works as much as it may until the time has ended. */
static size_t work(struct throttle *pace, int64_t from_ms, int64_t to_ms)
{
    size_t done = 0;
    for (int64_t now_ms = from_ms; now_ms < to_ms;) {
        size_t piece = throttle_allowance(pace, now_ms);
        done += piece;
        if (piece > 0)
            throttle_spend(pace, piece, now_ms);
        now_ms = throttle_due_ms(pace, now_ms) > now_ms
                     ? throttle_due_ms(pace, now_ms)
                     : now_ms + 1;
    }
    return done;
}

TEST(throttle_allows_its_limit_per_second)
{
    for (uint32_t rate = 1; rate <= 1000000; rate *= 10) {
        struct throttle pace = {.per_second = rate};
        assert_int_equal(work(&pace, 100000, 110000), 10 * rate);
    }
}

TEST(throttle_continues_after_clock_was_set_back)
{
    struct throttle pace = {.per_second = 100};
    throttle_spend(&pace, 10, 5000000);
    assert_int_equal(throttle_allowance(&pace, 5000000), 0);
    assert_int_equal(throttle_due_ms(&pace, 5000000), 5000100);
    assert_int_equal(throttle_allowance(&pace, 1000), 10);
}

TEST(throttles_are_equal_if_their_limits_are)
{
    struct throttle one = {.per_second = 100};
    struct throttle other = {.per_second = 100, .next_ms = 77};
    assert_true(throttle_equal(&one, &other));
    other.paused = true;
    assert_false(throttle_equal(&one, &other));
}
