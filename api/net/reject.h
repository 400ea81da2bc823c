/* Turning a connection away before it has a door. */
#ifndef API_DISMISSAL_H
#define API_DISMISSAL_H

#include "http/problem.h"
#include "net/connection.h"

/* Answers whatever plain request is coming with this problem, as far as the
 * socket takes it, and ends our side. The socket stays open: close it next.
 * Any thread. */
void dismiss(const struct connection *visit, enum problem_code code,
             const char *detail);

#endif
