/* Marks in the log, one after each batch: the batch's last versionstamp and the
 * time when it was applied. The log can be cut at a mark, so that the store is
 * in the state of a versionstamp or a time. Recovery skips marks. */
#ifndef LOG_MARKS_H
#define LOG_MARKS_H

#include "storage/log_files.h"

struct log_mark {
    uint64_t stamp;       /* last versionstamp of the batch */
    int64_t at_ms;        /* Unix time */
    struct log_place end; /* of the mark's record: where the log can be cut */
};

/* Writes a mark after the batch that was applied last. Writer only. If the mark
 * cannot be written, the log cannot be cut there. */
void log_marks_write(struct env *env, const struct log_mark *mark);

/* Called for each mark in order; returns false to stop. */
typedef bool log_mark_fn(void *target, const struct log_mark *mark);

/* Reads the marks in a directory that is not open, and calls `each` for them.
 * KX_OK: to the log's end, or until `each` returned false; KX_DAMAGED;
 * KX_NO_MEMORY. */
enum kx_status log_marks_read(const char *directory, log_mark_fn *each,
                              void *target, struct kx_fault *fault);

#endif
