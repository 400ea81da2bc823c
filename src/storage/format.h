/* The number of a data directory's format: how its files and rows are
 * understood. It stands in two places. The file "format" says what a program
 * must know to open the directory; it is read before anything is opened, so
 * that a program which is too old changes nothing. The row "format" of the
 * catalog says how far the rows are, and follows each step of an upgrade, so
 * that an interrupted upgrade continues.
 */
#ifndef FORMAT_H
#define FORMAT_H

#include "bdb/txn.h"

/* What this program writes. */
enum { FORMAT_NUMBER = 2 };

/* Returns whether this program may read the directory: KX_OK, also when there
 * is no file; KX_BAD_DIRECTORY with a sentence; KX_NO_MEMORY. */
enum kx_status format_look(const char *directory, struct kx_fault *fault);

/* Returns whether this program may open the directory, which it has locked. A
 * file with a lower number, or none, becomes one with FORMAT_NUMBER, on disk at
 * once. KX_OK; KX_BAD_DIRECTORY with a sentence for a higher number or one that
 * cannot be read or written, and then nothing was changed; KX_NO_MEMORY. */
enum kx_status format_guard(const char *directory, struct kx_fault *fault);

/* Brings the rows of an open environment to FORMAT_NUMBER, step by step.
 * KX_OK; KX_ABSENT: there is no catalog yet; KX_BAD_DIRECTORY with a sentence;
 * KX_NO_MEMORY, KX_DISK_FULL, KX_FAILED. */
enum kx_status format_upgrade(struct env *env, struct kx_fault *fault);

/* The write of a new catalog's number; the value lives in talloc context mem.
 * False when memory ran out. */
bool format_write(void *mem, struct txn_write *write_out);

/* The write of a store's id, which has UUID_SIZE - 1 characters. */
struct txn_write format_id_write(const char *id);

/* The parts that the file and the row share (format.c, format_rows.c). Reads
 * decimal digits, with or without a line end after them; false for anything
 * else, and for 0. */
bool format_number_read(const char *text, unsigned long *number_out);
/* KX_BAD_DIRECTORY, with a sentence: the data have this higher number. */
enum kx_status format_too_new(unsigned long number, struct kx_fault *fault);

#endif
