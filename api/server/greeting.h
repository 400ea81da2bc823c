/* What a started server prints on the terminal. */
#ifndef API_GREETING_H
#define API_GREETING_H

#include "http/service.h"

/* Prints the store and the addresses (one or more) to standard output, with
 * first commands that can be pasted unchanged. With --ephemeral prints one line
 * of JSON instead, with the URL of the first address and the process ID. */
void greeting_print(const struct service *service,
                    const struct addresses *bound);

#endif
