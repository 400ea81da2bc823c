/* What the library sees of a directory. By its own reading, an error is the end
 * of the names: the log of a store would then be taken for absent, and begun
 * anew over the old one.
 */
#ifndef LISTING_H
#define LISTING_H

/* Before an environment is opened. */
void listing_install(void);

/* Why a directory could not be read since then (errno); 0: all were. */
int listing_error(void);

#endif
