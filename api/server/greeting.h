/* What a started server prints on the terminal. */
#ifndef API_GREETING_H
#define API_GREETING_H

#include "http/service.h"

/* Prints to standard output what is served, at which addresses (one or more),
 * and commands to begin with that can be pasted as they are. */
void greeting_print(const struct service *service,
                    const struct addresses *bound);

#endif
