/* The Berkeley DB environment: one directory, one process, a fixed set of
 * tables. Opening it recovers: after a crash, everything that was flushed is
 * there and nothing else.
 *
 * There is no lock subsystem. The store has one writer, and its view keeps
 * readers out while a batch is applied, so page locks would only cost time. */
#ifndef ENV_H
#define ENV_H

#include "base/dir_lock.h"
#include "bdb/txn.h"

struct env_options {
    const char *directory; /* must live as long as the environment */
    uint64_t cache_bytes;  /* page cache, including the library's overhead */
    bool fatal; /* recover from the whole log instead of the last checkpoint:
                 * for older files from a backup */
    struct dir_lock *lock; /* the directory's lock, held by the caller; NULL:
                            * the environment locks the directory */
    uint64_t disk_floor;   /* bytes. The ballast is removed if less than half of
                            * it is free; log files are preallocated only if
                            * twice as much stays free */
};

/* Opens the environment and its tables under talloc context mem, and creates
 * what is missing. KX_OK, KX_IN_USE, KX_BAD_DIRECTORY, KX_NO_MEMORY,
 * KX_DISK_FULL, KX_FAILED; the fault says why. */
enum kx_status env_open(void *mem, const struct env_options *options,
                        struct env **env_out, struct kx_fault *fault);

/* Writes a checkpoint, unless the environment has failed; closes and frees
 * everything. No other call may be running. KX_OK: everything is on disk;
 * KX_FAILED: some changes may be only in the log, as far as it was flushed. */
enum kx_status env_close(struct env *env);

/* Applies `count` writes with txn_apply, and appends a witness to the log
 * (log_end.h). KX_OK: committed, and on disk after the next env_flush. After
 * KX_CHECK_FAILED (the key of a ROW_INSERT already had a row), KX_DISK_FULL,
 * KX_NO_MEMORY and KX_FAILED nothing has changed. Writer only. */
enum kx_status env_apply(struct env *env, const struct row_write *writes,
                         size_t count, enum row_order order);

/* Waits until all transactions committed so far are on disk. KX_OK, KX_FAILED.
 * A failure is final: the environment must be opened again. Writer and
 * checkpointer. */
enum kx_status env_flush(struct env *env);

enum checkpoint_pace {
    CHECKPOINT_PAUSES, /* leaves the disk to flushes half of the time */
    CHECKPOINT_HURRIES /* for when new log would make recovery too long */
};

/* Writes a checkpoint if at least `kilobytes` of log (0: any) were written
 * since the last one, and removes log files that are no longer needed. KX_OK,
 * KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED. Checkpointer thread only. May run
 * beside any other call except open and close. */
enum kx_status env_checkpoint(struct env *env, uint32_t kilobytes,
                              enum checkpoint_pace pace);

/* Returns the number of checkpoints that env_checkpoint has written. Any
 * thread. */
uint64_t env_checkpoints(const struct env *env);

/* Returns the guard of the directory's disk, which lives as long as the
 * environment. */
struct disk_guard *env_disk(struct env *env);

/* Returns the bytes of log since the last checkpoint; 0 if unknown. About as
 * many bytes of table pages may be in memory only, without space on the disk.
 * Any thread. */
uint64_t env_log_since_checkpoint(const struct env *env);

/* Marks the environment as failed, as a failed call does. Any thread. */
void env_fail(struct env *env);

/* Returns whether the environment has failed and must be opened again. Any
 * thread. */
bool env_failed(const struct env *env);

struct env_stats {
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
/* Fills in statistics, counted since the environment was opened; zeros where
 * nothing is known. Any thread. */
void env_stats_read(struct env *env, struct env_stats *stats_out);

#endif
