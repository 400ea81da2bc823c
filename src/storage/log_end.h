/* Finds where the log of a data directory ends, and whether more of the log is
 * lost. The library takes the first unreadable record of the last log file for
 * the end of the log. */
#ifndef LOG_END_H
#define LOG_END_H

#include "storage/log_files.h"

struct log_end {
    const char *directory;
    bool whole; /* check all files, not only those that recovery needs, from the
                 * last checkpoint on */
    struct log_place end; /* result: the end of the readable log */
};

/* Reads the log files of a directory that is not open; the caller sets
 * directory and whole. KX_OK: nothing shows that the log was longer, also if
 * there is no log; KX_DAMAGED: the log was longer, and the fault says where;
 * KX_NO_MEMORY; KX_FAILED. */
enum kx_status log_end_find(struct log_end *logend, struct kx_fault *fault);

#endif
