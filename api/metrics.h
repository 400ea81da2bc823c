/* Figures for Prometheus, in its text format. */
#ifndef API_METRICS_H
#define API_METRICS_H

#include "service.h"

/* Appends all figures. Labels are rows of the route table, index names and
 * states; never keys. Opens a view of its own on reader. */
void metrics_write(struct service *service, struct kx_reader *reader,
                   struct kx_buffer *out);

#endif
