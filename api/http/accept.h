/* The header Accept (RFC 9110 section 12.5.1), for routes with several forms:
 * GET /list is a page as one JSON document or a stream of NDJSON; GET
 * /indexes/{name} is one document or a stream of events. Weights (;q=) are not
 * compared: the first form in the header that the route makes and whose weight
 * is not 0 is taken. */
#ifndef API_ACCEPT_H
#define API_ACCEPT_H

#include <stdbool.h>

enum accept_form {
    FORM_JSON,
    FORM_NDJSON, /* named before JSON, or alone */
    FORM_EVENTS, /* likewise */
    FORM_OTHER   /* nothing that the service makes */
};

/* Members of a set of forms. */
enum {
    MAKES_JSON = 1 << FORM_JSON,
    MAKES_NDJSON = 1 << FORM_NDJSON,
    MAKES_EVENTS = 1 << FORM_EVENTS
};

/* The form, out of the set `makes`, for which a value of Accept asks. NULL and
 * "" ask for JSON. FORM_OTHER: none fits; the caller answers 406. */
enum accept_form accept_form(const char *accept, unsigned makes);

/* Is the media range or coding in a value of Accept or Accept-Encoding, with a
 * weight other than 0? Wildcards do not count. NULL names nothing. */
bool accept_names(const char *accept, const char *name);

#endif
