/* The lock on a data directory: one process at a time.
 */
#ifndef DIR_LOCK_H
#define DIR_LOCK_H

#include "kindex.h"

struct dir_lock;

/* Creates the directory if it is missing, and locks it. *lock_out is a child of
 * the talloc context mem; freeing the lock unlocks the directory. KX_OK;
 * KX_IN_USE: another process holds the lock; KX_BAD_DIRECTORY: the directory
 * cannot be created or used; KX_NO_MEMORY. On failure the fault says why. */
enum kx_status dir_lock_take(void *mem, const char *directory,
                             struct dir_lock **lock_out,
                             struct kx_fault *fault);

#endif
