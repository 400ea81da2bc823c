/* Finds where the log of a data directory ends, and whether more of the log is
 * lost. The library takes the first unreadable record of the last log file for
 * the end of the log. */
#ifndef LOG_END_H
#define LOG_END_H

#include <stdatomic.h>

#include "storage/log_files.h"

/* Witnesses are records that say up to where the log was on disk before them.
 * The library takes a damaged record for the end of the log. If a witness after
 * that place names a later place, the log was longer. Recovery skips witnesses.
 *
 * Bytes from before a crash can follow the end of the log. Witnesses in them
 * raise no false alarm: what they say was on disk is still there. */

/* Places in the log, updated by the writer and the checkpointer thread. A place
 * that is too early makes a witness weaker, not wrong. */
struct log_witness {
    uint64_t key;
    atomic_uint_least64_t put;     /* end of the last witness */
    atomic_uint_least64_t applied; /* end of the last batch's witness */
    atomic_uint_least64_t flushed; /* the log is on disk up to here */
    atomic_uint_least64_t stated;  /* the place that the last witness names */
    uint64_t seen; /* `applied` a second ago; checkpointer only */
};

/* Starts writing witnesses in an environment whose tables are open and whose
 * log is flushed. KX_OK, KX_FAILED. */
enum kx_status log_witness_start(struct env *env);

/* Appends a witness after a batch. Writer only. If it cannot be written, it is
 * left out: nothing else depends on it. */
void log_witness_batch(struct env *env);

/* Appends a witness unless one already says that the last batch is on disk. */
void log_witness_last(struct env *env);

/* Does what log_witness_last does, if no batch was applied since the previous
 * call. The checkpointer calls it every second, so that only batches of the
 * last two seconds lack a witness. Returns whether the witness needs a flush.
 */
bool log_witness_idle(struct env *env);

/* Records what a flush made durable: call log_witness_put before the flush, and
 * log_witness_flushed with its result after the flush. */
uint64_t log_witness_put(const struct env *env);
void log_witness_flushed(struct env *env, uint64_t place);

/* Returns the length of the record at `at`; 0 if its checksum is wrong, or if
 * the file ends before. */
uint32_t log_record_checked(const struct log_file *file, size_t at);

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
