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

/* ---- Parts, for metrics.c and metrics_indexes.c ------------------------- */

/* Appends one line, or several, formatted; at most 511 bytes. */
void metrics_add(struct kx_buffer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends the lines that Prometheus wants once for each name, before all of its
 * values. */
void metrics_head(struct kx_buffer *out, const char *name, const char *type,
                  const char *help);

/* Appends the figures of all indexes, in a view of its own. */
void metrics_write_indexes(struct kx_reader *reader, struct kx_buffer *out);

#endif
