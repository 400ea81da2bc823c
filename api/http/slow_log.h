/* The last slow requests, each with an account of its work, kept in memory
 * without values. Targets may contain keys, so only administrators see them
 * (GET /slow). */
#ifndef API_SLOW_LOG_H
#define API_SLOW_LOG_H

#include <pthread.h>

#include "http/timing.h"
#include "http/trace.h"

enum {
    SLOW_LOG_KEPT_MAX = 128,   /* requests */
    SLOW_LOG_TARGET_MAX = 256, /* bytes of a target that are kept */
    SLOW_LOG_ADVICE_MAX =
        511, /* bytes of an advice; a longer one is not kept */
    SLOW_LOG_LIMIT_DEFAULT = 100
};

struct route;

/* The account of a finished request. */
struct account {
    int64_t ended_at_ms;
    const char *method;
    const struct route *route; /* NULL: there was none */
    int status;                /* 0: the client disconnected before the reply */
    char token[KX_TOKEN_ID_SIZE + 1]; /* "": none was needed */
    struct trace trace;
    struct timing timing;
    struct kx_reads reads;
    size_t checks; /* of its commit */
    size_t mutations;
    uint64_t bytes_in; /* of the body */
    uint64_t bytes_out;
    char target[SLOW_LOG_TARGET_MAX + 1]; /* cut, raw: percent-encoded */
    char advice[SLOW_LOG_ADVICE_MAX + 1]; /* JSON, or "" */
};

/* Zeroed, with the lock initialized. */
struct slow_log {
    pthread_mutex_t lock; /* guards the other members */
    struct account kept[SLOW_LOG_KEPT_MAX];
    uint64_t count; /* of all; the last one is kept[(count - 1) % MAX] */
};

/* Replaces the oldest account by a copy of this one. Any thread. */
void slow_log_keep(struct slow_log *slow, const struct account *account);

/* Copies the account of the n-th last request, counted from 0. Returns false if
 * there are fewer. Any thread. */
bool slow_log_last(struct slow_log *slow, size_t n,
                   struct account *account_out);

#endif
