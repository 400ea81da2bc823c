/* A wait for a condition with a time limit. The limit is a monotonic time, so a
 * step of the wall clock does not change the wait. */
#ifndef COND_WAIT_H
#define COND_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Waits for cond until it is signalled or kx_monotonic_ns reaches until_ns. The
 * caller holds the lock. Returns false on timeout. True may be a spurious
 * wakeup: test the condition again. */
bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                     uint64_t until_ns);

#endif
