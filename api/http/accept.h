/* The header Accept (RFC 9110 section 12.5.1), as far as the service has a
 * choice: GET /list has two forms, a page as one JSON document or a stream of
 * NDJSON; GET /indexes/{name} is one document or a stream of events. Weights
 * (;q=) are not compared: the first form in the header that is made and whose
 * weight is not 0 is taken. */
#ifndef API_ACCEPT_H
#define API_ACCEPT_H

enum form {
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

/* The form that a value of Accept asks for, of those that are made. NULL and ""
 * mean JSON, as for a client that has no wishes; FORM_OTHER is the caller's
 * 406. */
enum form accept_form(const char *accept, unsigned makes);

#endif
