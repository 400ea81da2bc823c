/* The wait itself names the clock, so conditions need no attributes. */
#include "base/cond_wait.h"

#include <time.h>

#include "kindex/clock.h"

bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                     uint64_t until_ns)
{
    struct timespec limit = {.tv_sec = (time_t)(until_ns / KX_SECOND_NS),
                             .tv_nsec = (long)(until_ns % KX_SECOND_NS)};
    return pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &limit) == 0;
}
