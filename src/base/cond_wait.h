/* Waiting for a signal with an end. It goes by the monotonic clock: a step of
 * the wall clock must not stretch it. */
#ifndef COND_WAIT_H
#define COND_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Waits for cond with the lock held, until until_ns (kx_monotonic_ns) at the
 * latest: false when that has come. True may mean nothing, as ever with
 * conditions. */
bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                     uint64_t until_ns);

#endif
