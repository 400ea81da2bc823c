/* What a client of a watch has seen. */
#ifndef API_LAST_EVENT_H
#define API_LAST_EVENT_H

#include "rest/query_params.h"

struct last_event {
    bool given;            /* by the client */
    struct kx_buffer text; /* in the memory of the query */
};

/* Reads the id of the last event, which a browser sends when it connects again,
 * to the same address; otherwise the parameter. False with an error. */
bool last_event_read(const struct request *request,
                     const struct query_params *query, enum parameter parameter,
                     struct last_event *last_out, struct input_error *error);

#endif
