/* Marks in the log, one after each batch: its last versionstamp and when it was
 * applied. With them the log can be cut where the store was in the state of a
 * versionstamp or a time. Recovery passes over them.
 */
#ifndef LOG_MARKS_H
#define LOG_MARKS_H

#include "storage/log_files.h"

struct log_mark {
    uint64_t stamp;
    int64_t at_ms;
    struct log_place end; /* of its record: where the log is cut */
};

/* Writes a mark after what was applied last. Writer only. A mark that cannot be
 * written is missing, which takes away a place to cut at. */
void log_marks_write(struct env *env, const struct log_mark *mark);

/* Called for each mark, in order; false ends the reading. */
typedef bool log_mark_fn(void *target, const struct log_mark *mark);

/* Reads the log files in a directory that is not open. KX_OK: to their end, or
 * until `each` said so; KX_DAMAGED, KX_NO_MEMORY. */
enum kx_status log_marks_read(const char *directory, log_mark_fn *each,
                              void *target, struct kx_fault *fault);

#endif
