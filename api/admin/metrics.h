/* Metrics for Prometheus, in its text format (version 0.0.4). They come from
 * three places: the core's own counters, the service's (service.h), and the
 * process. */
#ifndef API_METRICS_H
#define API_METRICS_H

#include "http/service.h"
#include "queues/queue_counts.h"

/* Appends all metrics. Labels are rows of the route table, index names and
 * states; never keys. If reader holds a view, or can hold one now, the metrics
 * of the indexes are included, and reader still holds the view afterwards. A
 * standby passes NULL, because it cannot check the tokens of its callers; only
 * the metrics of the process are then appended. */
void metrics_write(struct service *service, struct kx_reader *reader,
                   const struct queues *queues, struct kx_buffer *out);

/* ---- Parts (metrics_*.c) ------------------------------------------------ */

/* Appends the metrics of requests and connections. */
void metrics_write_requests(const struct service *service,
                            struct kx_buffer *out);
/* Appends the metrics of all indexes, in a separate view. */
void metrics_write_indexes(struct kx_reader *reader, struct kx_buffer *out);
/* Appends the metrics of all queues. */
void metrics_write_queues(const struct queues *queues, struct kx_buffer *out);
/* Appends the metrics of the process. */
void metrics_write_process(int64_t started_at_ms, struct kx_buffer *out);
/* The processor time that all threads have used. */
double metrics_cpu_seconds(void);
/* Resident memory; 0 where there is no /proc. */
double metrics_resident_bytes(void);

#endif
