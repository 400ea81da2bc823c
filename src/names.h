/* Names of files that outlive a power cut. */
#ifndef NAMES_H
#define NAMES_H

#include <stdbool.h>

/* Makes a change of names in the directory of this file durable: a file made,
 * renamed or removed there. False: it may not be; errno says why. */
bool names_sync(const char *path);

#endif
