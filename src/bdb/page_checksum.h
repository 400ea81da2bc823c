/* Berkeley DB's checksum of pages and log records: bytes as the digits of a
 * number to the base 33, modulo 2^32. */
#ifndef PAGE_CHECKSUM_H
#define PAGE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of all bytes that led to `sum` (0: none) and these. */
uint32_t page_checksum_add(uint32_t sum, const void *data, size_t size);

/* The library's own name for it. A program's definition comes before that of a
 * shared library, so that the library calls this one: its own takes one byte
 * after the other, a sixth of what a write costs. */
uint32_t __ham_func4(const void *db, const void *data, uint32_t size);

#endif
