/* The headers in which a client says what answer it prefers. Any thread.
 *
 * Accept (RFC 9110 section 12.5.1) is for routes with several forms: GET /list
 * is a JSON document or a stream of NDJSON; GET /indexes/{name} is one document
 * or a stream of events. Weights (;q=) are not compared: the first form that
 * the route makes and whose weight is not 0 is chosen.
 *
 * Prefer (RFC 7240) has wishes that a server may ignore. The service knows
 * `wait`, `server-timing` and `return=representation`. */
#ifndef API_ACCEPT_H
#define API_ACCEPT_H

#include <stdbool.h>

enum accept_form {
    FORM_JSON,
    FORM_NDJSON, /* named before JSON, or alone */
    FORM_EVENTS, /* named before JSON, or alone */
    FORM_OTHER   /* none that the service makes */
};

/* Members of a set of forms. */
enum {
    MAKES_JSON = 1 << FORM_JSON,
    MAKES_NDJSON = 1 << FORM_NDJSON,
    MAKES_EVENTS = 1 << FORM_EVENTS
};

/* Returns the form of the set `makes` that the value of Accept asks for. NULL
 * and
 * "" ask for JSON. FORM_OTHER: no form fits; the caller answers 406. */
enum accept_form accept_form(const char *accept, unsigned makes);

/* True if the value of Accept has this media range with a weight other than 0.
 * Wildcards do not count. */
bool accept_names(const char *accept, const char *name);

enum { PREFER_WAIT_MAX = 60 /* seconds; a longer wait is cut to this */ };

/* Returns the seconds of wait=N in the value of Prefer, at most
 * PREFER_WAIT_MAX; 0 without it, or if prefer is NULL. */
unsigned prefer_wait(const char *prefer);

/* True if the header has the preference `name`, with or without a value. */
bool prefer_has(const char *prefer, const char *name);

/* True if the header has the preference `name` with this value, quoted or not.
 */
bool prefer_says(const char *prefer, const char *name, const char *value);

#endif
