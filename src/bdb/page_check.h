/* Checks the pages of data files by their checksums, without the library, which
 * checks a page when it reads it: for files that are not verified yet, or that
 * are being written.
 */
#ifndef PAGE_CHECK_H
#define PAGE_CHECK_H

#include "bdb/table.h"

/* A page is written as one 4 KiB sector by common disks: a larger one could be
 * torn by a power cut, and Berkeley DB cannot repair a torn page. */
enum { PAGE_BYTES = 4096 };

/* Returns whether the n-th page of a file has the checksum and the number that
 * it states. A page that was never written is right. */
bool page_check_one(const uint8_t *page, uint64_t n);

/* How far a check has come: the smaller tables first. It begins with {.tables =
 * TABLE_COUNT}, and has ended when tables is 0. */
struct page_walk {
    int tables;    /* that are left, the one at `page` included */
    uint64_t page; /* the next one */
    bool shared;   /* others may write pages meanwhile */
};

/* Reads the next `most` pages of the tables in a directory and moves the walk
 * on. KX_OK, also when there are no tables; KX_DAMAGED: the fault says where;
 * KX_NO_MEMORY, KX_FAILED. */
enum kx_status page_check(const char *directory, struct page_walk *walk,
                          uint64_t most, struct kx_fault *fault);

/* All pages of all tables in a directory that is not open. */
enum kx_status page_check_all(const char *directory, struct kx_fault *fault);

#endif
