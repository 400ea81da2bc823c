/* The route table: all operations of the service. It is compared with
 * openapi.yaml and printed by --print-routes, and requests are counted by its
 * rows. The server hands it to the rooms below as service->routes. Any
 * thread. */
#ifndef API_ROUTES_H
#define API_ROUTES_H

#include "http/request.h"

extern const struct route_table ROUTES;

/* Prints "METHOD pattern operationId" lines to standard output. */
void routes_print(void);

#endif
