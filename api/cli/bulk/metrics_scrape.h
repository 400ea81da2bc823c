/* Parses the output of /metrics: samples by name and labels, their increase
 * between two scrapes, and quantiles of histograms. */
#ifndef API_METRICS_SCRAPE_H
#define API_METRICS_SCRAPE_H

#include "kindex.h"

/* kindex_index_entries{index="a"} 3 */
struct metrics_sample {
    struct kx_slice name;
    struct kx_slice labels; /* raw, without braces */
    double value;
};

struct metrics_scrape {
    struct metrics_sample *samples;
    size_t count;
};

/* Parses the Prometheus text format as /metrics writes it. The samples are
 * allocated in `memory`, a talloc context, and point into text. False if memory
 * ran out or a line is not valid. */
bool metrics_scrape_parse(void *memory, struct kx_slice text,
                          struct metrics_scrape *scrape_out);

/* Replaces the counters and histograms of `now` with their increase since
 * `before`; gauges stay. A counter that fell was reset in between and keeps its
 * value. */
void metrics_scrape_subtract(struct metrics_scrape *now,
                             const struct metrics_scrape *before);

/* The sum of all samples with this name whose labels begin with `labels`; 0
 * without such samples. */
double metrics_scrape_sum(const struct metrics_scrape *scrape, const char *name,
                          const char *labels);

/* Returns the value of a label of a sample, or an empty slice if it has no such
 * label. Escapes are not decoded; Kindex writes none. */
struct kx_slice metrics_scrape_label(const struct metrics_sample *sample,
                                     const char *label);

/* True if the sample has this name. */
bool metrics_scrape_is(const struct metrics_sample *sample, const char *name);

/* The quantile of a histogram for `share`, interpolated between its bounds,
 * over all samples whose labels begin with `labels`. 0 when the histogram is
 * empty; the last bound when the quantile lies above it. */
double metrics_scrape_quantile(const struct metrics_scrape *scrape,
                               const char *name, const char *labels,
                               double share);

#endif
