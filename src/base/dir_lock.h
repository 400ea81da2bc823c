/* The lock on a data directory: one process at a time.
 */
#ifndef DIR_LOCK_H
#define DIR_LOCK_H

#include "kindex.h"

struct dir_lock;

/* Makes the directory when it is missing, and takes its lock, under talloc
 * context mem; it is given back when that is freed. KX_IN_USE,
 * KX_BAD_DIRECTORY, KX_NO_MEMORY. */
enum kx_status dir_lock_take(void *mem, const char *directory,
                             struct dir_lock **lock_out,
                             struct kx_fault *fault);

#endif
