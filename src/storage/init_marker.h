/* The file "complete" of a data directory: it says that all tables were on disk
 * once. Without it a table can be missing because the program crashed while the
 * store was made; with it a missing table was lost, together with its rows.
 */
#ifndef INIT_MARKER_H
#define INIT_MARKER_H

#include "kindex.h"

/* KX_OK: it exists; KX_ABSENT: it does not; other statuses: that is not known.
 */
enum kx_status init_marker_exists(const char *directory,
                                  struct kx_fault *fault);

/* Writes it, after the names of the tables' files, whose contents are on disk
 * already. False with errno: it may be missing. */
bool init_marker_write(const char *directory);

#endif
