/* A wait for a condition with a time limit, by the monotonic clock: a step of
 * the wall clock does not lengthen it. */
#ifndef COND_WAIT_H
#define COND_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Waits for cond with the lock held, at most until until_ns (kx_monotonic_ns);
 * false if that time has come. True may be a spurious wakeup. */
bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                     uint64_t until_ns);

#endif
