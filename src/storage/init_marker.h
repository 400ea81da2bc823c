/* The file "complete" of a data directory: it says that all tables were on disk
 * once. Without it a table can be missing because a crash came while the store
 * was made; with it the table was lost, and what it held with it.
 */
#ifndef INIT_MARKER_H
#define INIT_MARKER_H

#include "kindex.h"

/* KX_OK: it is there; KX_ABSENT: it is not; other statuses: nobody can tell. */
enum kx_status init_marker_exists(const char *directory,
                                  struct kx_fault *fault);

/* Makes it. What is in the tables' files is on disk; that the files have their
 * names there is seen to before. False: it is not there for sure; errno. */
bool init_marker_write(const char *directory);

#endif
