/* Limits that the system sets for the process. */
#ifndef API_LIMITS_H
#define API_LIMITS_H

#include "config/options.h"

/* Raises the process's limit of open files as far as it may, and otherwise
 * lowers connections_max to what fits: refusing a connection with 503 is better
 * than failing to accept it. */
void limits_fit(struct options *options);
/* Warns if no file may grow beyond some size: to the store that looks like a
 * full disk. */
void limits_warn(void);

#endif
