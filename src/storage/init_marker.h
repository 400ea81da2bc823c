/* The file "complete" of a data directory: all tables have been on disk once.
 * Without the file, a table can be missing because the program crashed while it
 * created the store. With the file, a missing table was lost with its rows. */
#ifndef INIT_MARKER_H
#define INIT_MARKER_H

#include "kindex.h"

/* KX_OK: the marker exists; KX_ABSENT: it does not; otherwise the status of the
 * failed file call (file_failed). */
enum kx_status init_marker_exists(const char *directory,
                                  struct kx_fault *fault);

/* Writes the marker, after the tables' contents and names are on disk. Returns
 * false with errno if the marker may be missing. */
bool init_marker_write(const char *directory);

#endif
