/* The memory of the cache's pages, side by side in huge pages of the processor.
 *
 * A write looks at pages from all over the cache. In memory of 4 KiB pages each
 * look also misses the processor's table of addresses (TLB); most of that time
 * is saved when one entry of the table covers 2 MiB. The library takes each
 * page of its cache from malloc, which puts it anywhere; so it gets blocks of a
 * page and its header from here, and everything else from malloc.
 */
#ifndef PAGE_ALLOC_H
#define PAGE_ALLOC_H

#include <stddef.h>

struct __db_env;

/* From now on, in all of this process, the library takes its memory through
 * this module. The first call reserves room for a cache of so many bytes, which
 * stays reserved, but takes no memory until it is used; where that fails, and
 * for what goes beyond it, malloc is used. To be called before the first
 * environment is made; any number of times, but not by two threads at once. */
void page_alloc_install(size_t cache_bytes);

/* Makes the library take from malloc what its caller has to free(). For every
 * environment, right after it is made. 0 or an error of the library. */
int page_alloc_except_results(struct __db_env *db);

/* What the library calls: malloc, realloc and free by other means. Any thread.
 */
void *page_alloc_take(size_t bytes);
void *page_alloc_resize(void *memory, size_t bytes);
void page_alloc_give(void *memory);

#endif
