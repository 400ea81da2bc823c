/* ULIDs: 26 characters, sorted by time, unique without coordination. */
#ifndef API_ULID_H
#define API_ULID_H

#include "kindex.h"

enum { ULID_SIZE = 26 };

/* Writes a new ULID of kx_now_ms, no NUL. On one thread each is greater than
 * the one before, also within a millisecond and when the clock goes back. */
void ulid_next(char *out);

#endif
