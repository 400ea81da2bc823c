/* Witnesses: records that say up to where the log was on disk before them. The
 * library takes a damaged record for the end of the log. If a witness after
 * that place names a later place, the log was longer. Recovery skips witnesses.
 *
 * Bytes from before a crash can follow the end of the log. Witnesses in them
 * raise no false alarm: what they say was on disk is still there. */
#ifndef LOG_WITNESS_H
#define LOG_WITNESS_H

#include <stdatomic.h>

#include "storage/log_files.h"

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

/* Returns the key of a store's witnesses, or 0 if the directory has no tables.
 * Without the key, a client cannot forge a witness in a value: the key is
 * computed from the tables' unique name, which no client sees. Reads files of
 * the directory. */
uint64_t log_witness_key(const char *directory);

/* Returns the latest place that any witness among these bytes names; {0, 0} if
 * the bytes contain no witness. */
struct log_place log_witness_find(uint64_t key, struct kx_slice bytes);

#endif
