/* The header Prefer (RFC 7240): what a client would like, and need not get. The
 * service knows `wait`, `server-timing` and `return=representation`; others are
 * passed over, as the standard asks for. */
#ifndef API_PREFER_H
#define API_PREFER_H

#include <stdbool.h>

enum { PREFER_WAIT_MAX = 60 /* seconds; who wants more gets this */ };

/* The seconds of wait=N in a value of Prefer, at most PREFER_WAIT_MAX; 0 when
 * there is none, or the header is NULL. */
unsigned prefer_wait(const char *prefer);

/* Is the preference `name` there, with or without a value? */
bool prefer_has(const char *prefer, const char *name);

/* Is the preference `name` there with this value, in quotes or without? */
bool prefer_says(const char *prefer, const char *name, const char *value);

#endif
