/* The allocator, set up so that the memory of large bodies goes back to the
 * system when they are gone. Figures and reasons are in heap.c. */
#ifndef API_HEAP_H
#define API_HEAP_H

#include "http/service.h"

/* Once, before there is a second thread. */
void heap_configure(void);
/* Now and then, by one thread: gives back what lies free, when the bodies of
 * requests and replies take much less than they did at most since then. */
void heap_tend(struct counters *counters);

#endif
