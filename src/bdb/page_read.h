/* Reads bytes of a page of an open table, from the cache or the file. */
#ifndef PAGE_READ_H
#define PAGE_READ_H

#include "bdb/page_check.h"

/* A part of a page; at + size is at most PAGE_BYTES. */
struct page_part {
    uint32_t page;
    size_t at;
    size_t size;
};

/* Copies the part to `out`. The page layout belongs to the library, so read
 * only what is the same in all of its files. Any thread inside a view, or the
 * writer. KX_OK; KX_FAILED: the page does not exist or cannot be read. */
enum kx_status page_read(struct env *env, enum table table,
                         struct page_part part, void *out);

#endif
