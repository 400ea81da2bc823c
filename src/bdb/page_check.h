/* Are the pages of the data files still what was written? Each page has a
 * checksum, which the library looks at when it reads one; here all are looked
 * at without it, in files that nobody may trust yet, or that are being
 * written.
 */
#ifndef PAGE_CHECK_H
#define PAGE_CHECK_H

#include "bdb/table.h"

/* A page is written as one 4 KiB sector by common disks: a larger one could be
 * torn by a power cut, and Berkeley DB cannot mend a torn page. */
enum { PAGE_BYTES = 4096 };

/* Has the n-th page of a file the checksum that it states, and is it the n-th?
 * Pages that were never written are right. */
bool page_check_one(const uint8_t *page, uint64_t n);

/* Reads all pages of all tables in the directory, which nobody has open. KX_OK,
 * also when there are no tables; KX_DAMAGED: the fault says where;
 * KX_NO_MEMORY, KX_FAILED. */
enum kx_status page_check(const char *directory, struct kx_fault *fault);

#endif
