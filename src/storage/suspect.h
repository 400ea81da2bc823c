/* The file "suspect" of a data directory: the library or the page check has
 * found damage. The next start then checks every page before it opens the
 * directory. */
#ifndef SUSPECT_H
#define SUSPECT_H

#include <stdbool.h>

/* Returns whether the file exists; true also if that is unknown. */
bool suspect_exists(const char *directory);

/* Creates the file. If the disk refuses, the damage has to be found again. */
void suspect_mark(const char *directory);

/* Removes the file, after every page was found to be right. */
void suspect_clear(const char *directory);

#endif
