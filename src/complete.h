/* The file "complete" of a data directory: it says that all tables were on disk
 * once. Without it a table can be missing because a crash came while the store
 * was made; with it the table was lost, and what it held with it.
 */
#ifndef COMPLETE_H
#define COMPLETE_H

#include "kindex.h"

/* Is it there? */
bool complete_is_marked(const char *directory);

/* Makes it. What is in the tables' files is on disk; that the files have their
 * names there is seen to before. False: it is not there for sure; errno. */
bool complete_mark(const char *directory);

#endif
