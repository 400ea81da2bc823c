/* The phases of a request's time. Waits are measured; the remaining time is the
 * handler's. Waiting for a notification (request_wait) does not count, since
 * the client asked for it. */
#ifndef API_TIMING_H
#define API_TIMING_H

#include "kindex.h"

enum request_phase {
    PHASE_HANDLE, /* the handler: reads, and makes commit and reply */
    PHASE_QUEUE,  /* the commit waits for the writer */
    PHASE_PLAN,   /* the commit is planned, with its batch */
    PHASE_APPLY,  /* the commit is applied */
    PHASE_FLUSH,  /* waits for the disk: for its commit, or one that it shows */
    PHASE_TURNS,  /* other requests have their turn between its slices */
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
/* The request is parked, and continues after waiting for `phase`; PHASE_COUNT
 * stands for a notification. */
void timing_park(struct timing *timing);
void timing_resume(struct timing *timing, enum request_phase phase);
/* The reply is ready. `times` are the milestones of its commit, or NULL. */
void timing_end(struct timing *timing, const struct kx_milestones *times);

/* The name of a phase, such as "flush". */
const char *timing_name(enum request_phase phase);

/* Writes the phases that took time as the value of Server-Timing, with its NUL,
 * at most TIMING_TEXT_MAX bytes. */
void timing_text(const struct timing *timing, char *out);

#endif
