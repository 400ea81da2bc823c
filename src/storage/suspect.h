/* The file "suspect" of a data directory: the library, or the check of pages
 * beside it, found damage. The next start then checks every page before it
 * opens the directory.
 */
#ifndef SUSPECT_H
#define SUSPECT_H

#include <stdbool.h>

/* Also true when that is not known. */
bool suspect_exists(const char *directory);

/* If the disk refuses the file, the damage has to be found once more. */
void suspect_mark(const char *directory);

/* After every page was right. */
void suspect_clear(const char *directory);

#endif
