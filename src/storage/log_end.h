/* Where the log of a data directory ends, and whether there was more of it. The
 * library takes the first record of the last log file that it cannot read for
 * the end of the log.
 */
#ifndef LOG_END_H
#define LOG_END_H

#include "storage/log_files.h"

struct log_end {
    const char *directory;
    bool whole; /* all files are checked, or only those that recovery needs:
                 * from the last checkpoint on */
    struct log_place end; /* set: the end of what can be read */
};

/* Reads the log files of a directory that is not open. KX_OK: nothing shows
 * that there was more, also when there is no log; KX_DAMAGED: there was more;
 * the fault says where; KX_NO_MEMORY, KX_FAILED. */
enum kx_status log_end_find(struct log_end *logend, struct kx_fault *fault);

#endif
