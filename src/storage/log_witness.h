/* Witnesses: records in the log that say up to where it was on disk before
 * them. The library takes a damaged record for the end of the log, and all that
 * follows for never written. A witness after that place which names a later
 * place proves that there was more. Recovery skips witnesses.
 *
 * Bytes from before a crash can follow the end of the log. Their witnesses
 * raise no false alarm: what they say was on disk is still there.
 */
#ifndef LOG_WITNESS_H
#define LOG_WITNESS_H

#include <stdatomic.h>

#include "storage/log_files.h"

/* Places in the log, which the writer and the checkpointer thread change. A
 * place that is too early makes a witness weaker, not wrong. */
struct log_witness {
    uint64_t key;
    atomic_uint_least64_t put;     /* after the last witness */
    atomic_uint_least64_t applied; /* after the witness of the last batch */
    atomic_uint_least64_t flushed; /* on disk up to there */
    atomic_uint_least64_t stated;  /* by the last witness */
    uint64_t seen; /* `applied` a second ago; checkpointer only */
};

/* Begins in an environment whose tables are open and whose log is flushed.
 * KX_OK, KX_FAILED. */
enum kx_status log_witness_start(struct env *env);

/* Writes a witness after a batch that was applied. Writer only. A witness that
 * cannot be written is left out: nothing else depends on it. */
void log_witness_batch(struct env *env);

/* Writes a witness if none says yet that the last batch is on disk. */
void log_witness_last(struct env *env);

/* The same, if nothing was applied since the call before. Called each second,
 * so that only a batch of the last two seconds has no witness. Returns whether
 * a flush is wanted for it. */
bool log_witness_idle(struct env *env);

/* What a flush has brought to disk: log_witness_flushed after it with what
 * log_witness_put said before. */
uint64_t log_witness_put(const struct env *env);
void log_witness_flushed(struct env *env, uint64_t place);

/* The key of a store's witnesses, without which a client cannot forge a witness
 * in a value: computed from the tables' unique name, which no client sees.
 * Reads the files of a directory; 0: the directory has no tables. */
uint64_t log_witness_key(const char *directory);

/* The latest place that a witness among these bytes names, wherever it lies;
 * {0, 0}: no witness. */
struct log_place log_witness_find(uint64_t key, struct kx_slice bytes);

#endif
