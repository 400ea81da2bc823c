/* Metrics of requests and connections. Combinations of route and status that
 * never occurred are left out: the table has hundreds. */
#include "admin/metrics.h"
#include "admin/metrics_text.h"

#include <stdio.h>

#include "http/router.h"

enum { LABELS_MAX = 160 };

/* Calls write for each combination that occurred. */
typedef void write_fn(struct kx_buffer *out, const char *labels,
                      const struct kx_histogram *histogram);

static uint64_t total(const struct kx_histogram *histogram)
{
    uint64_t count = 0;
    for (size_t i = 0; i < KX_BUCKETS; i++)
        count += histogram->counts[i];
    return count;
}

static void write_total(struct kx_buffer *out, const char *labels,
                        const struct kx_histogram *histogram)
{
    metrics_text_add(out, "kindex_http_requests_total{%s} %llu\n", labels,
                     (unsigned long long)total(histogram));
}

static void write_duration(struct kx_buffer *out, const char *labels,
                           const struct kx_histogram *histogram)
{
    metrics_text_histogram(out, "kindex_http_request_duration_seconds", labels,
                           KX_TIMES, histogram);
}

static void for_each(const struct service *service, write_fn *write,
                     struct kx_buffer *out)
{
    const struct route_table *table = service->routes;
    char labels[LABELS_MAX];
    for (size_t row = 0; row <= table->count; row++) {
        const struct route *route =
            row < table->count ? &table->rows[row] : NULL;
        const struct kx_histogram *replies = service->counters.replies[row];
        for (int status = 0; status < STATUS_CLASSES; status++) {
            if (total(&replies[status]) == 0)
                continue;
            snprintf(labels, sizeof labels,
                     "route=\"%s\",method=\"%s\",status=\"%dxx\"",
                     route != NULL ? route->pattern : "none",
                     route != NULL ? method_name(route->method) : "any",
                     status);
            write(out, labels, &replies[status]);
        }
    }
}

static void write_connections(const struct counters *counters,
                              struct kx_buffer *out)
{
    metrics_text_gauge(out, "kindex_http_connections", "Open connections.",
                       (double)atomic_load(&counters->connections));
    metrics_text_head(out, "kindex_http_connections_total", "counter",
                      "Connections by result.");
    metrics_text_add(
        out, "kindex_http_connections_total{result=\"accepted\"} %llu\n",
        (unsigned long long)atomic_load(&counters->connections_accepted));
    metrics_text_add(
        out, "kindex_http_connections_total{result=\"refused\"} %llu\n",
        (unsigned long long)atomic_load(&counters->connections_refused));
    metrics_text_head(out, "kindex_tls_handshakes_failed_total", "counter",
                      "Connections whose TLS handshake failed.");
    metrics_text_add(
        out, "kindex_tls_handshakes_failed_total %llu\n",
        (unsigned long long)atomic_load(&counters->handshakes_failed));
}

static void write_stalled(const struct counters *counters,
                          struct kx_buffer *out)
{
    metrics_text_head(out, "kindex_http_stalled_total", "counter",
                      "Requests ended because their client stalled while other "
                      "requests needed their memory.");
    metrics_text_add(out, "kindex_http_stalled_total %llu\n",
                     (unsigned long long)atomic_load(&counters->stalled));
}

static void write_http2(const struct counters *counters, struct kx_buffer *out)
{
    metrics_text_head(out, "kindex_http_streams_refused_total", "counter",
                      "HTTP/2 requests refused (REFUSED_STREAM) because of "
                      "--requests-max or --bodies-max.");
    metrics_text_add(
        out, "kindex_http_streams_refused_total %llu\n",
        (unsigned long long)atomic_load(&counters->streams_refused));
    metrics_text_head(
        out, "kindex_http_floods_total", "counter",
        "HTTP/2 connections ended because their client sent too many "
        "frames (ENHANCE_YOUR_CALM).");
    metrics_text_add(out, "kindex_http_floods_total %llu\n",
                     (unsigned long long)atomic_load(&counters->floods));
}

static void write_forwarded(const struct counters *counters,
                            struct kx_buffer *out)
{
    static const char *const RESULTS[FORWARDED_RESULTS] = {
        [FORWARDED_ANSWERED] = "answered",
        [FORWARDED_UNREACHABLE] = "unreachable",
        [FORWARDED_UNANSWERED] = "unanswered",
        [FORWARDED_REFUSED] = "refused"};
    metrics_text_head(out, "kindex_forwarded_total", "counter",
                      "Requests that a node passed on to the active node, by "
                      "result.");
    for (size_t i = 0; i < FORWARDED_RESULTS; i++)
        metrics_text_add(
            out, "kindex_forwarded_total{result=\"%s\"} %llu\n", RESULTS[i],
            (unsigned long long)atomic_load(&counters->forwarded[i]));
}

void metrics_write_requests(const struct service *service,
                            struct kx_buffer *out)
{
    const struct counters *counters = &service->counters;
    metrics_text_head(out, "kindex_http_requests_total", "counter",
                      "Replies by route and class of their status.");
    for_each(service, write_total, out);
    metrics_text_head(
        out, "kindex_http_request_duration_seconds", "histogram",
        "Time from a complete request to its reply, or to the beginning "
        "of a stream, excluding waits that the client asked for.");
    for_each(service, write_duration, out);
    metrics_text_gauge(out, "kindex_http_requests_in_flight",
                       "Requests not replied yet.",
                       (double)atomic_load(&counters->in_flight));
    metrics_text_gauge(out, "kindex_http_body_bytes",
                       "Memory that bodies of requests and replies take.",
                       (double)atomic_load(&counters->body_bytes));
    metrics_text_head(out, "kindex_http_slow_requests_total", "counter",
                      "Requests that took --slow-ms or longer.");
    metrics_text_add(out, "kindex_http_slow_requests_total %llu\n",
                     (unsigned long long)atomic_load(&counters->slow));
    write_stalled(counters, out);
    write_connections(counters, out);
    write_http2(counters, out);
    write_forwarded(counters, out);
}
