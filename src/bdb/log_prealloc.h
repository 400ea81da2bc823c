/* Preallocates the next log file: a file of zeros, renamed when the library
 * needs a new log file. Flushes then overwrite existing blocks, and the file
 * system need not commit a new file size each time. The library's DB_LOG_ZERO
 * would fill the file on the thread that needs it, while every write waits. */
#ifndef LOG_PREALLOC_H
#define LOG_PREALLOC_H

#include "kindex.h"

struct log_prealloc;

/* Called before the library creates a file. If path is a log file that does not
 * exist, renames the finished file to it, and makes the name durable. Returns
 * true also if no file is ready: the library then creates the log file. Returns
 * false with errno on failure. */
bool log_prealloc_take(const char *path);

/* Starts a thread, as a child of mem, that keeps one file of `bytes` bytes
 * ready in the directory as long as `reserve` more bytes stay free. Freeing the
 * result ends the thread and leaves the file for the next time. NULL: no memory
 * or no thread. */
struct log_prealloc *log_prealloc_start(void *mem, const char *directory,
                                        size_t bytes, uint64_t reserve);

#endif
