/* The next log file, made in advance: a file of zeros that is renamed when the
 * library would create one. A flush then overwrites blocks that exist, and the
 * file system need not commit a new size each time. DB_LOG_ZERO fills it on the
 * thread that needs it, and every write waits meanwhile. */
#ifndef LOG_PREALLOC_H
#define LOG_PREALLOC_H

#include "kindex.h"

struct log_prealloc;

/* Called before a file is created. If the path is that of a log file which does
 * not exist, the file that is ready gets this name, and the name is on disk.
 * True also if no file is ready: the library then makes its own. False with
 * errno. */
bool log_prealloc_take(const char *path);

/* Starts the thread that keeps one file of so many bytes ready in the
 * directory, as a child of mem, as long as `reserve` bytes stay free besides.
 * Freeing it ends the thread and leaves the file for the next time. NULL: no
 * memory or no thread. */
struct log_prealloc *log_prealloc_start(void *mem, const char *directory,
                                        size_t bytes, uint64_t reserve);

#endif
