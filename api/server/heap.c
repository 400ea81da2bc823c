/* glibc's allocator maps large pieces by themselves, so that they go back to
 * the system when they are freed. But when one is freed it raises the size from
 * which it does so, up to 32 MiB, and takes the next ones from its heaps, where
 * they leave holes. 400 clients that do not read values of 1 MB, with 256 MiB
 * of
 * --bodies-max and 88 MiB before them, brought the program to 608 MiB, all of
 * which stayed when they had gone. With a fixed size, and each value held once,
 * it is 344 MiB and then 84. What is smaller lies in the heaps, whose holes are
 * given back after a peak. */
#include "server/heap.h"

#include <malloc.h>

enum {
    MAPPED_MIN = 128 << 10, /* bytes of a piece that is mapped by itself */
    TOP_MAX = 1 << 20,      /* free at the end of a heap before it shrinks */
    HEAPS_MAX = 2,          /* of many threads: each heap has its own holes */
    FALL_MIN = 16 << 20 /* decrease of the bytes in bodies after which holes are
                         * searched for */
};

void heap_configure(bool many)
{
    if (many)
        mallopt(M_ARENA_MAX, HEAPS_MAX);
    mallopt(M_MMAP_THRESHOLD, MAPPED_MIN);
    mallopt(M_TRIM_THRESHOLD, TOP_MAX);
}

/* A peak during this call may be missed; the next drop triggers the trim. */
void heap_trim_after_peak(struct counters *counters)
{
    uint64_t now =
        atomic_load_explicit(&counters->body_bytes, memory_order_relaxed);
    uint64_t most =
        atomic_load_explicit(&counters->body_bytes_most, memory_order_relaxed);
    if (most < now + FALL_MIN || now > most / 2)
        return;
    malloc_trim(0);
    atomic_store_explicit(&counters->body_bytes_most, now,
                          memory_order_relaxed);
}
