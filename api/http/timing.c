/* Adding up the phases of a request. */
#include "http/timing.h"

#include <stdio.h>

static const char *const NAMES[] = {
    [PHASE_HANDLE] = "handle", [PHASE_QUEUE] = "queue", [PHASE_PLAN] = "plan",
    [PHASE_APPLY] = "apply",   [PHASE_FLUSH] = "flush", [PHASE_TURNS] = "turns",
    [PHASE_STREAM] = "stream",
};

const char *timing_name(enum request_phase phase)
{
    return NAMES[phase];
}

void timing_begin(struct timing *timing)
{
    *timing = (struct timing){.started_ns = kx_monotonic_ns()};
}

void timing_park(struct timing *timing)
{
    timing->parked_ns = kx_monotonic_ns();
}

void timing_resume(struct timing *timing, enum request_phase phase)
{
    uint64_t waited_ns = kx_monotonic_ns() - timing->parked_ns;
    if (phase == PHASE_COUNT)
        timing->news_ns += waited_ns;
    else
        timing->phases[phase] += waited_ns;
}

/* The time between two steps of a commit; 0 when it did not get that far. */
static uint64_t between(uint64_t from_ns, uint64_t to_ns)
{
    return from_ns != 0 && to_ns > from_ns ? to_ns - from_ns : 0;
}

static void add_commit(struct timing *timing, const struct kx_milestones *times)
{
    uint64_t planned_ns =
        times->planned_ns != 0 ? times->planned_ns : times->begun_ns;
    timing->phases[PHASE_QUEUE] +=
        between(times->submitted_ns, times->begun_ns);
    timing->phases[PHASE_PLAN] += between(times->begun_ns, planned_ns);
    timing->phases[PHASE_APPLY] += between(planned_ns, times->applied_ns);
    timing->phases[PHASE_FLUSH] +=
        between(times->applied_ns, times->flushed_ns);
}

void timing_end(struct timing *timing, const struct kx_milestones *times)
{
    uint64_t others_ns = 0;
    if (times != NULL)
        add_commit(timing, times);
    for (int phase = PHASE_HANDLE + 1; phase < PHASE_COUNT; phase++)
        others_ns += timing->phases[phase];
    timing->total_ns = kx_monotonic_ns() - timing->started_ns - timing->news_ns;
    timing->phases[PHASE_HANDLE] = between(others_ns, timing->total_ns);
    if (others_ns == 0)
        timing->phases[PHASE_HANDLE] = timing->total_ns;
}

void timing_text(const struct timing *timing, char *out)
{
    int used = snprintf(out, TIMING_TEXT_MAX, "total;dur=%.3f",
                        (double)timing->total_ns / 1e6);
    for (int phase = 0; phase < PHASE_COUNT; phase++)
        if (timing->phases[phase] != 0)
            used += snprintf(out + used, (size_t)(TIMING_TEXT_MAX - used),
                             ", %s;dur=%.3f", NAMES[phase],
                             (double)timing->phases[phase] / 1e6);
}
