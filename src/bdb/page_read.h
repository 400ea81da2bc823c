/* Bytes of a page of an open table, from the cache or the file. */
#ifndef PAGE_READ_H
#define PAGE_READ_H

#include "bdb/page_check.h"

/* Bytes of a page; at + size is at most PAGE_BYTES. */
struct page_part {
    uint32_t page;
    size_t at;
    size_t size;
};

/* Copies the part to `out`. What the bytes mean is the library's matter: only
 * what is the same in all of its files may be read so. Any thread within a
 * view, or the writer. KX_OK; KX_FAILED: there is no such page, or it cannot be
 * read. */
enum kx_status page_read(struct env *env, enum table table,
                         struct page_part part, void *out);

#endif
