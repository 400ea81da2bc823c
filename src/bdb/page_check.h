/* Checks the pages of data files by their checksums, without the library, which
 * checks a page only when it reads it: for files that are not verified yet or
 * are being written. */
#ifndef PAGE_CHECK_H
#define PAGE_CHECK_H

#include "bdb/table.h"

/* The size of a page in bytes. Common disks write a sector of 4 KiB as a whole;
 * a power cut could tear a larger page, and Berkeley DB cannot repair torn
 * pages. */
enum { PAGE_BYTES = 4096 };

/* Returns whether the n-th page of a file contains its own checksum and number.
 * A page that was never written counts as right. */
bool page_check_one(const uint8_t *page, uint64_t n);

/* The progress of a check, smaller tables first. It begins with {.tables =
 * TABLE_COUNT}; the check is complete when tables is 0. */
struct page_walk {
    int tables;    /* left to check, including the one at `page` */
    uint64_t page; /* the next page */
    bool shared;   /* others may write pages meanwhile */
};

/* Checks the next `most` pages of the tables in a directory, and advances the
 * walk. KX_OK, also if there are no tables; KX_DAMAGED, with a fault that says
 * where; KX_NO_MEMORY; KX_FAILED. */
enum kx_status page_check(const char *directory, struct page_walk *walk,
                          uint64_t most, struct kx_fault *fault);

/* Checks all pages of all tables in a directory that is not open. KX_OK,
 * KX_DAMAGED, KX_NO_MEMORY, KX_FAILED, as page_check. */
enum kx_status page_check_all(const char *directory, struct kx_fault *fault);

#endif
