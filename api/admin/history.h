/* Takes samples of this service's metrics for their history. */
#ifndef API_HISTORY_H
#define API_HISTORY_H

#include "http/service.h"

/* Takes the first sample of service->history. */
void history_open(struct service *service);

/* Adds to the history if a step has ended; else nothing. Call it several times
 * in a step, on the main thread, which opens and closes the store. */
void history_tend(struct service *service);

#endif
