/* The header Accept, as far as the service has a choice. */
#ifndef API_ACCEPT_H
#define API_ACCEPT_H

enum form {
    FORM_JSON,
    FORM_NDJSON, /* named before JSON, or alone */
    FORM_OTHER   /* nothing that the service makes */
};

/* The form that a value of Accept (NULL: absent) asks for. */
enum form accept_form(const char *accept);

#endif
