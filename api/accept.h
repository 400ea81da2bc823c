/* The header Accept (RFC 9110 section 12.5.1), as far as the service has a
 * choice: GET /list has two forms, a page as one JSON document or a stream of
 * NDJSON; GET /indexes/{name} is one document or a stream of events. Weights
 * (;q=) are not looked at: the first form in the header that the service makes
 * is taken. */
#ifndef API_ACCEPT_H
#define API_ACCEPT_H

enum form {
    FORM_JSON,
    FORM_NDJSON, /* named before JSON, or alone */
    FORM_EVENTS, /* likewise */
    FORM_OTHER   /* nothing that the service makes */
};

/* The form that a value of Accept asks for. NULL and "" mean JSON, as for a
 * client that has no wishes; FORM_OTHER is the caller's 406. */
enum form accept_form(const char *accept);

#endif
