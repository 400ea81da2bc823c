/* The header Prefer (RFC 7240): wishes of a client, which a server may ignore.
 * The service knows `wait`, `server-timing` and `return=representation`; others
 * are ignored, as the standard requires. Any thread. */
#ifndef API_PREFER_H
#define API_PREFER_H

#include <stdbool.h>

enum { PREFER_WAIT_MAX = 60 /* seconds; a longer wait is cut to this */ };

/* The seconds of wait=N in a value of Prefer, at most PREFER_WAIT_MAX; 0
 * without it, or if the header is NULL. */
unsigned prefer_wait(const char *prefer);

/* Has the header the preference `name`, with or without a value? */
bool prefer_has(const char *prefer, const char *name);

/* Has the header the preference `name` with this value, quoted or not? */
bool prefer_says(const char *prefer, const char *name, const char *value);

#endif
