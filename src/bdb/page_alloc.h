/* Keeps the pages of the cache next to each other, in huge pages of memory.
 *
 * A write visits pages all over the cache. With memory pages of 4 KiB, most of
 * these visits also miss the TLB; with entries that cover 2 MiB, most of that
 * time is saved. The library allocates each page of its cache with malloc,
 * which scatters them. So it gets blocks of a page and its header from this
 * module, and everything else from malloc. */
#ifndef PAGE_ALLOC_H
#define PAGE_ALLOC_H

#include <stddef.h>

struct __db_env;

/* Makes the library allocate memory through this module, in the whole process.
 * The first call reserves address space for a cache of cache_bytes, which takes
 * no memory until it is used. If that fails, or for what exceeds it, malloc is
 * used. Call before the first environment is created; may be called any number
 * of times, but not by two threads at once. */
void page_alloc_install(size_t cache_bytes);

/* Makes the library use malloc for results that its caller frees. Call for
 * every environment right after it is created. Returns 0 or an error of the
 * library.
 */
int page_alloc_except_results(struct __db_env *db);

/* malloc, realloc and free, as called by the library. Any thread. */
void *page_alloc_take(size_t bytes);
void *page_alloc_resize(void *memory, size_t bytes);
void page_alloc_give(void *memory);

#endif
