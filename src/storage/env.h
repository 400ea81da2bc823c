/* The Berkeley DB environment: one directory, one process, a fixed set of
 * tables. Opened with recovery, so that after a crash everything flushed is
 * there and nothing else.
 *
 * There is no lock subsystem: the store has one writer, and its view keeps
 * readers out while a batch is applied, so page locks would only cost time.
 */
#ifndef ENV_H
#define ENV_H

#include "base/dir_lock.h"
#include "bdb/txn.h"

struct env_options {
    const char *directory; /* must live as long as the environment */
    uint64_t cache_bytes;  /* of the page cache, with the library's overhead */
    bool fatal; /* recovers from all of the log, not only from its last
                 * checkpoint on: for files that are older, from a backup */
    struct dir_lock
        *lock;           /* the caller's, on the directory; NULL: it is taken */
    uint64_t disk_floor; /* with less than half of it free, the ballast is
                          * removed; no log file is made in advance unless twice
                          * as much stays free */
};

/* Opens, or makes, the environment and its tables under talloc context mem.
 * KX_IN_USE, KX_BAD_DIRECTORY, KX_NO_MEMORY, KX_DISK_FULL, KX_FAILED. */
enum kx_status env_open(void *mem, const struct env_options *options,
                        struct env **env_out, struct kx_fault *fault);

/* Writes a checkpoint, unless the environment has failed, and closes and frees
 * everything. No other call may be running. KX_OK: all is on disk; KX_FAILED:
 * perhaps only in the log, as far as it was flushed. */
enum kx_status env_close(struct env *env);

/* txn_apply, and a witness after it (log_witness.h). Writer only. */
enum kx_status env_apply(struct env *env, const struct row_write *writes,
                         size_t count, enum row_order order);

/* Returns when all transactions committed before are on disk: KX_OK. Any
 * failure is final: the environment has failed and must be opened again. */
enum kx_status env_flush(struct env *env);

enum checkpoint_pace {
    CHECKPOINT_PAUSES, /* leaves the disk to flushes half of the time */
    CHECKPOINT_HURRIES /* what comes meanwhile makes recovery longer */
};

/* Writes a checkpoint when at least `kilobytes` of log came since the last one
 * (0: any at all) and removes log files that are not needed any more.
 * Checkpointer thread only. May run beside any other call but open and close.
 */
enum kx_status env_checkpoint(struct env *env, uint32_t kilobytes,
                              enum checkpoint_pace pace);

/* How many checkpoints env_checkpoint has written. Any thread. */
uint64_t env_checkpoints(const struct env *env);

/* What watches the directory's disk; lives as long. */
struct disk_guard *env_disk(struct env *env);

/* Bytes of log since the last checkpoint: about as much of the tables may be in
 * memory only, without room on the disk. 0 when it is not known. Any thread. */
uint64_t env_log_since_checkpoint(const struct env *env);

/* The environment has failed, as if a call had. Any thread. */
void env_fail(struct env *env);

/* Returns whether a call has failed so that the environment must be opened
 * again. Any thread. */
bool env_failed(const struct env *env);

struct env_figures {
    uint64_t cache_hits; /* look-ups of pages */
    uint64_t cache_misses;
    uint64_t cache_bytes;
    uint64_t cache_dirty; /* pages */
    uint64_t pages_written;
    uint64_t pages_evicted;
    uint64_t table_bytes[TABLE_COUNT]; /* of the files */
    uint64_t log_files;
    uint64_t log_bytes;
    uint64_t checkpoints; /* written by env_checkpoint */
    uint64_t checkpoint_age_s;
};
/* Counted since the environment was opened; zeros where nothing is known. */
void env_stats(struct env *env, struct env_figures *figures_out);

#endif
