/* How many jobs of each queue are in which state. */
#ifndef API_QUEUE_COUNTS_H
#define API_QUEUE_COUNTS_H

#include "http/request.h"

enum queue_state {
    QUEUE_DUE,     /* a claim would find the job */
    QUEUE_LEASED,  /* claimed */
    QUEUE_WAITING, /* due later, also after a failure */
    QUEUE_DEAD,    /* failed too often, and stayed in the queue */
    QUEUE_STATES
};
extern const char *const QUEUE_STATE_NAMES[QUEUE_STATES];

struct queue_counts {
    struct kx_buffer name;
    bool counted; /* false: the queue is gone, or cannot be read now */
    uint64_t jobs[QUEUE_STATES];
    uint64_t retries;      /* jobs that are not dead and had an attempt before
                            * the one that runs */
    uint64_t attempts;     /* the largest number of attempts of one job */
    int64_t oldest_due_ms; /* Unix time of the earliest due job; 0: no due job
                            * has a time */
    int64_t next_due_ms;   /* Unix time when the next job that is not due yet
                            * becomes due; 0: none */
    uint64_t flush;        /* flush that the answer must wait for; 0: none */
};

struct queues {
    bool all; /* also queues whose jobs the caller may not list */
    bool failed;
    struct queue_counts *each;
    size_t count;
};

/* Counts the jobs of all queues, in the order of the queues' names, and of each
 * queue the first jobs_max in the order of its index. The counts belong to
 * request->memory. The caller sets queues->all, zeroes the rest, and marks the
 * rights as checked. With `all` no queue is counted on a standby, or while rows
 * cannot be read. False if the reply is complete. */
bool queue_count_all(struct request *request, struct reply *reply,
                     uint64_t jobs_max, struct queues *queues);

#endif
