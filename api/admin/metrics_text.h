/* Prometheus's text format (version 0.0.4), line by line. */
#ifndef API_METRICS_TEXT_H
#define API_METRICS_TEXT_H

#include "kindex.h"

/* Appends one line, or several, formatted; at most 511 bytes. */
void metrics_text_add(struct kx_buffer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends the lines that Prometheus wants once for each name, before all of its
 * values. */
void metrics_text_head(struct kx_buffer *out, const char *name,
                       const char *type, const char *help);
/* These lines and the value. */
void metrics_text_gauge(struct kx_buffer *out, const char *name,
                        const char *help, double value);
/* Appends the values of a histogram; labels (a="b",c="d", or "") are those of
 * all its lines. */
void metrics_text_histogram(struct kx_buffer *out, const char *name,
                            const char *labels, enum kx_scale scale,
                            const struct kx_histogram *histogram);

#endif
