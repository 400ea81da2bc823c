/* Sorted runs of rows in one file, and their merge. The file has no name: the
 * system removes it with the last descriptor, also after a kill. Nothing in it
 * is needed after a crash. One thread at a time.
 *
 * The format: blocks of the size of their content (32 bits), its hash (64
 * bits, base/hash.h) and the content; numbers as in memory. The contents of a
 * run are rows, one after the other, that may lie across blocks: the sizes of
 * key and value (32 bits each), then both. */
#ifndef RUN_FILE_H
#define RUN_FILE_H

#include "kindex.h"

enum {
    RUN_BLOCK_BYTES = 128 << 10, /* also in memory for each run when merged */
    RUNS_MAX = 2000
};

struct run_file;

/* Creates an empty file in a directory; freeing the result closes it. NULL: the
 * file cannot be created there, or memory ran out. */
struct run_file *run_file_create(void *mem, const char *directory);

/* Adds a row to the run, not below the one before it. KX_OK, KX_NO_MEMORY,
 * KX_DISK_FULL, KX_FAILED; after an error the file is of no use. */
enum kx_status run_file_add(struct run_file *file, struct kx_slice key,
                            struct kx_slice value);

/* Ends the run; the next row begins another. As run_file_add. Not more than
 * RUNS_MAX times. */
enum kx_status run_file_end_run(struct run_file *file);

/* Return the number of ended runs, the rows in them, and the bytes of the file.
 */
size_t run_file_runs(const struct run_file *file);
uint64_t run_file_rows(const struct run_file *file);
uint64_t run_file_bytes(const struct run_file *file);

/* The next row of all runs in key order, valid until the next call; among equal
 * keys the row of the earlier run comes first. No row can be added after the
 * first call. KX_OK; KX_END; KX_NO_MEMORY; KX_FAILED: the file cannot be read,
 * or differs from what was written. */
enum kx_status run_file_next(struct run_file *file, struct kx_slice *key_out,
                             struct kx_slice *value_out);

#endif
