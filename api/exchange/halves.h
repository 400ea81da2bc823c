/* Handlers that are still two functions, which return what they want next. */
#ifndef API_HALVES_H
#define API_HALVES_H

#include "http/request.h"

/* Runs them on a fiber. */
void halves_run(struct request *request, struct reply *reply,
                handler_fn *handle, handler_fn *finish);

#endif
