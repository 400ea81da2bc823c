/* Refuses a connection before HTTP/1.1 or HTTP/2 serves it. */
#ifndef API_REJECT_H
#define API_REJECT_H

#include "http/problem.h"
#include "net/connection.h"

/* Sends this problem as an unencrypted HTTP/1.1 answer, without reading the
 * request first, and shuts down the sending side. Bytes that the socket does
 * not accept at once are dropped. The socket stays open: the caller closes it
 * next. Any thread. */
void dismiss(const struct connection *connection, enum problem_code code,
             const char *detail);

#endif
