/* The allocator, set up so that the memory of large bodies is returned to the
 * system when they are freed. Measurements and reasons are in heap.c. */
#ifndef API_HEAP_H
#define API_HEAP_H

#include "http/service.h"

/* Once, before there is a second thread. many: the process has many threads. */
void heap_configure(bool many);
/* Returns free memory to the system when the bodies of requests and replies
 * take much less than their peak since the last call that did so. One thread
 * calls it at intervals. */
void heap_trim_after_peak(struct counters *counters);

#endif
