/* Figures for Prometheus, in its text format (version 0.0.4). They come from
 * three places: the core's own counters, the service's (service.h), and the
 * process. */
#ifndef API_METRICS_H
#define API_METRICS_H

#include "http/service.h"

/* Appends all figures. Labels are rows of the route table, index names and
 * states; never keys. Opens a view of its own on reader. */
void metrics_write(struct service *service, struct kx_reader *reader,
                   struct kx_buffer *out);

/* ---- Parts, for metrics_*.c --------------------------------------------- */

/* Appends one line, or several, formatted; at most 511 bytes. */
void metrics_add(struct kx_buffer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends the lines that Prometheus wants once for each name, before all of its
 * values. */
void metrics_head(struct kx_buffer *out, const char *name, const char *type,
                  const char *help);
/* These lines and the value. */
void metrics_gauge(struct kx_buffer *out, const char *name, const char *help,
                   double value);
/* Appends the values of a histogram; labels (a="b",c="d", or "") are those of
 * all its lines. */
void metrics_histogram(struct kx_buffer *out, const char *name,
                       const char *labels, enum kx_scale scale,
                       const struct kx_histogram *histogram);

/* Appends the figures of requests and connections. */
void metrics_write_requests(const struct counters *counters,
                            struct kx_buffer *out);
/* Appends the figures of all indexes, in a view of its own. */
void metrics_write_indexes(struct kx_reader *reader, struct kx_buffer *out);
/* Appends the figures of the process. */
void metrics_write_process(int64_t started_at_ms, struct kx_buffer *out);

#endif
