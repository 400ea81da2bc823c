/* The last event that a client of a watch has seen. */
#ifndef API_LAST_EVENT_H
#define API_LAST_EVENT_H

#include "rest/query_params.h"

struct last_event {
    bool given;            /* the client sent one */
    struct kx_buffer text; /* its id, in the query's memory */
};

/* Reads Last-Event-ID, which a browser sends when it reconnects to the same
 * address, or without it the parameter. Returns false with an error. */
bool last_event_read(const struct request *request,
                     const struct query_params *query, enum parameter parameter,
                     struct last_event *last_out, struct input_error *error);

#endif
