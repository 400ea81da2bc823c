/* Figures for Prometheus, in its text format (version 0.0.4). They come from
 * three places: the core's own counters, the service's (service.h), and the
 * process. */
#ifndef API_METRICS_H
#define API_METRICS_H

#include "service.h"

/* Appends all figures. Labels are rows of the route table, index names and
 * states; never keys. Opens a view of its own on reader. */
void metrics_write(struct service *service, struct kx_reader *reader,
                   struct kx_buffer *out);

#endif
