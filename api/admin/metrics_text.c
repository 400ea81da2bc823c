/* Lines of Prometheus's text format. */
#include "admin/metrics_text.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_MAX = 512 };

void metrics_text_add(struct kx_buffer *out, const char *format, ...)
{
    char line[LINE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    kx_add_text(out, line);
}

void metrics_text_head(struct kx_buffer *out, const char *name,
                       const char *type, const char *help)
{
    metrics_text_add(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
                     type);
}

void metrics_text_gauge(struct kx_buffer *out, const char *name,
                        const char *help, double value)
{
    metrics_text_head(out, name, "gauge", help);
    metrics_text_add(out, "%s %.17g\n", name, value);
}

void metrics_text_histogram(struct kx_buffer *out, const char *name,
                            const char *labels, enum kx_scale scale,
                            const struct kx_histogram *histogram)
{
    const char *comma = *labels == '\0' ? "" : ",";
    double unit = scale == KX_TIMES ? 1e9 : 1;
    uint64_t count = 0;
    uint64_t bound = 0;
    for (size_t i = 0; bound != UINT64_MAX; i++) {
        char text[32] = "+Inf";
        bound = kx_bucket_bound(scale, i);
        count += histogram->counts[i];
        if (bound != UINT64_MAX)
            snprintf(text, sizeof text, "%.10g", (double)bound / unit);
        metrics_text_add(out, "%s_bucket{%s%sle=\"%s\"} %llu\n", name, labels,
                         comma, text, (unsigned long long)count);
    }
    const char *open = *labels == '\0' ? "" : "{";
    const char *close = *labels == '\0' ? "" : "}";
    metrics_text_add(out, "%s_sum%s%s%s %.15g\n%s_count%s%s%s %llu\n", name,
                     open, labels, close, (double)histogram->sum / unit, name,
                     open, labels, close, (unsigned long long)count);
}
