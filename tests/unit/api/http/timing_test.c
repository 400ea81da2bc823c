/* Phases of a request: what was waited for, and the rest. */
#include "http/timing.h"
#include "unit.h"

static void phases_of_a_commit_are_between_its_milestones(void **state)
{
    struct timing timing;
    (void)state;
    timing_begin(&timing);
    uint64_t start = timing.started_ns;
    struct kx_milestones times = {.submitted_ns = start + 1,
                                  .begun_ns = start + 11,
                                  .planned_ns = start + 31,
                                  .applied_ns = start + 61,
                                  .flushed_ns = start + 101};
    while (kx_monotonic_ns() < start + 1000)
        continue;
    timing_end(&timing, &times);
    assert_int_equal(timing.phases[PHASE_QUEUE], 10);
    assert_int_equal(timing.phases[PHASE_PLAN], 20);
    assert_int_equal(timing.phases[PHASE_APPLY], 30);
    assert_int_equal(timing.phases[PHASE_FLUSH], 40);
    assert_int_equal(timing.phases[PHASE_HANDLE], timing.total_ns - 100);
}

static void a_refused_commit_was_neither_applied_nor_flushed(void **state)
{
    struct timing timing;
    (void)state;
    timing_begin(&timing);
    uint64_t start = timing.started_ns;
    struct kx_milestones times = {.submitted_ns = start + 1,
                                  .begun_ns = start + 11,
                                  .planned_ns = start + 31};
    timing_end(&timing, &times);
    assert_int_equal(timing.phases[PHASE_APPLY], 0);
    assert_int_equal(timing.phases[PHASE_FLUSH], 0);
    assert_int_equal(timing.phases[PHASE_PLAN], 20);
}

static void waiting_for_news_does_not_count(void **state)
{
    struct timing timing;
    (void)state;
    timing_begin(&timing);
    uint64_t begun_ns = timing.started_ns;
    timing.parked_ns = kx_monotonic_ns() - 5000000000;
    timing.started_ns -= 5000000000;
    timing_resume(&timing, PHASE_COUNT);
    timing_end(&timing, NULL);
    assert_true(timing.news_ns >= 5000000000);
    assert_true(timing.total_ns <= kx_monotonic_ns() - begun_ns);
    assert_int_equal(timing.phases[PHASE_HANDLE], timing.total_ns);
}

static void the_header_names_what_took_time(void **state)
{
    char text[TIMING_TEXT_MAX];
    struct timing timing = {.total_ns = 1500000};
    (void)state;
    timing.phases[PHASE_HANDLE] = 500000;
    timing.phases[PHASE_FLUSH] = 1000000;
    timing_text(&timing, text);
    assert_string_equal(text,
                        "total;dur=1.500, handle;dur=0.500, flush;dur=1.000");
}

static void the_longest_header_fits(void **state)
{
    char text[TIMING_TEXT_MAX];
    struct timing timing = {.total_ns = UINT64_MAX / 10};
    (void)state;
    for (int phase = 0; phase < PHASE_COUNT; phase++)
        timing.phases[phase] = UINT64_MAX / 10;
    timing_text(&timing, text);
    assert_non_null(strstr(text, "stream;dur="));
    assert_true(strlen(text) < sizeof text - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_of_a_commit_are_between_its_milestones),
        cmocka_unit_test(a_refused_commit_was_neither_applied_nor_flushed),
        cmocka_unit_test(waiting_for_news_does_not_count),
        cmocka_unit_test(the_header_names_what_took_time),
        cmocka_unit_test(the_longest_header_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
