/* The next log file, made ahead: a file of zeros that is renamed when the
 * library would create one. A flush then overwrites blocks that exist, and the
 * file system need not commit a new size each time. Made by the thread that
 * needs it, as DB_LOG_ZERO does, it would hold up every write meanwhile. */
#ifndef LOG_PREALLOC_H
#define LOG_PREALLOC_H

#include "kindex.h"

struct log_prealloc;

/* For a path that is about to be created: if it is a log file's that is not
 * there, the file that is ready becomes it, its name on disk. Without one the
 * library makes its own: true. False with errno. */
bool log_prealloc_take(const char *path);

/* Starts the thread that keeps one file of so many bytes ready in the
 * directory, as a child of mem, when `reserve` bytes stay free beside it.
 * Freeing it ends the thread and leaves the file for the next time. NULL: no
 * memory or no thread. */
struct log_prealloc *log_prealloc_start(void *mem, const char *directory,
                                        size_t bytes, uint64_t reserve);

#endif
