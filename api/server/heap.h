/* The allocator, set up so that the memory of large bodies is returned to the
 * system when they are freed. Measurements and reasons are in heap.c. */
#ifndef API_HEAP_H
#define API_HEAP_H

#include "http/service.h"

/* Sets up the allocator. Must be called once, before there is a second thread.
 * many: the process has many threads. */
void heap_configure(bool many);
/* Returns free memory to the system if the bodies of requests and replies take
 * much less than their peak since memory was last returned. Only the main
 * thread calls it, at intervals. */
void heap_trim_after_peak(struct counters *counters);

#endif
