/* Phases of a request: what was waited for, and the rest. */
#include "http/timing.h"
#include "unit.h"

TEST(timing_phases_lie_between_milestones_of_the_commit)
{
    struct timing timing;
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

TEST(timing_of_refused_commit_has_no_apply_or_flush)
{
    struct timing timing;
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

TEST(timing_excludes_waits_for_news)
{
    struct timing timing;
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

TEST(server_timing_names_phases_that_took_time)
{
    char text[TIMING_TEXT_MAX];
    struct timing timing = {.total_ns = 1500000};
    timing.phases[PHASE_HANDLE] = 500000;
    timing.phases[PHASE_FLUSH] = 1000000;
    timing_text(&timing, text);
    assert_string_equal(text,
                        "total;dur=1.500, handle;dur=0.500, flush;dur=1.000");
}

TEST(server_timing_of_all_phases_fits)
{
    char text[TIMING_TEXT_MAX];
    struct timing timing = {.total_ns = UINT64_MAX / 10};
    for (int phase = 0; phase < PHASE_COUNT; phase++)
        timing.phases[phase] = UINT64_MAX / 10;
    timing_text(&timing, text);
    assert_non_null(strstr(text, "stream;dur="));
    assert_true(strlen(text) < sizeof text - 1);
}
