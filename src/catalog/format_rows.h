/* The row "format" of the catalog, and the upgrade of rows of an older format.
 * Each step of an upgrade updates the row, so an interrupted upgrade continues.
 */
#ifndef FORMAT_ROWS_H
#define FORMAT_ROWS_H

#include "engine/engine.h"
#include "engine/format_number.h"

/* Upgrades the rows of an open engine, read by `view`, to FORMAT_NUMBER, step
 * by step. KX_OK; KX_ABSENT: there is no catalog yet; KX_BAD_DIRECTORY, with a
 * fault that says why; KX_NO_MEMORY, KX_DISK_FULL, KX_FAILED. */
enum kx_status format_upgrade(struct engine *engine, struct engine_view *view,
                              struct kx_fault *fault);

/* Reads the number of the rows' format. KX_OK: it is at most FORMAT_NUMBER;
 * KX_ABSENT: there is no catalog yet; KX_BAD_DIRECTORY, with a fault that says
 * why, also while rows are being copied or if a copy did not end; KX_NO_MEMORY,
 * KX_FAILED, KX_UNREACHABLE. */
enum kx_status format_read(struct engine_view *view, unsigned long *number_out,
                           struct kx_fault *fault);

/* For a copy of all rows. format_copying: the first write, after which nothing
 * can open the store. format_copied: the last write; value is that of the
 * source's row. format_is_row: whether a row of the source is that row. */
struct row_write format_copying(void);
struct row_write format_copied(struct kx_slice value);
bool format_is_row(enum table table, struct kx_slice key);

/* Fills in the write of a new catalog's format number; the value is in talloc
 * context mem. False if memory ran out. */
bool format_write(void *mem, struct row_write *write_out);

/* Returns the write of a store's id, which has UUID_SIZE - 1 characters. */
struct row_write format_id_write(const char *id);

#endif
