/* The phases of a request's time. The waits are measured, and the remainder of
 * the whole time is the handler's. Waiting for news (request_wait) is what
 * the client asked for and does not count. */
#ifndef API_TIMING_H
#define API_TIMING_H

#include "kindex.h"

enum request_phase {
    PHASE_HANDLE, /* the handler: reads, and makes commit and reply */
    PHASE_QUEUE,  /* the commit waits for the writer */
    PHASE_PLAN,   /* it is planned, with its batch */
    PHASE_APPLY,  /* and applied */
    PHASE_FLUSH,  /* the disk, for its commit or for one that it shows */
    PHASE_TURNS,  /* other requests, between its slices */
    PHASE_STREAM, /* making the chunks of a stream */
    PHASE_COUNT
};

enum { TIMING_TEXT_MAX = 256 /* bytes of all phases as text */ };

struct timing {
    uint64_t started_ns; /* 0: not started yet */
    uint64_t parked_ns;
    uint64_t news_ns;
    uint64_t total_ns; /* until the reply, with what a stream takes after it */
    uint64_t phases[PHASE_COUNT];
};

/* Starts the clock. */
void timing_begin(struct timing *timing);
/* The request is parked; then it continues, and `phase` is what it waited for.
 * PHASE_COUNT stands for news. */
void timing_park(struct timing *timing);
void timing_resume(struct timing *timing, enum request_phase phase);
/* The reply is ready; times are those of its commit, or NULL. */
void timing_end(struct timing *timing, const struct kx_milestones *times);

/* The name of a phase, such as "flush". */
const char *timing_name(enum request_phase phase);

/* Writes the phases that took some time as the value of Server-Timing, with its
 * NUL (TIMING_TEXT_MAX bytes). */
void timing_text(const struct timing *timing, char *out);

#endif
