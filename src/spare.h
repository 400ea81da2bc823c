/* The next log file, made ahead: a file of zeros that is renamed when the
 * library would create one. A flush then overwrites blocks that exist, and the
 * file system need not commit a new size each time. Made by the thread that
 * needs it, as DB_LOG_ZERO does, it would hold up every write meanwhile. */
#ifndef SPARE_H
#define SPARE_H

#include "kindex.h"

struct spare;

/* From now on the library opens files through us. To be called before the first
 * environment is made; any number of times. */
void spare_install(void);

/* Starts the thread that keeps one file of so many bytes ready in the
 * directory, as a child of mem, when `reserve` bytes stay free beside it.
 * Freeing it ends the thread and leaves the file for the next time. NULL: no
 * memory or no thread. */
struct spare *spare_start(void *mem, const char *directory, size_t bytes,
                          uint64_t reserve);

#endif
