/* Reading the figures of /metrics back: samples by name and labels, what they
 * grew by between two scrapes, and quantiles of histograms. For the command
 * line. */
#ifndef API_SCRAPE_H
#define API_SCRAPE_H

#include "kindex.h"

/* kindex_index_entries{index="a"} 3 */
struct sample {
    struct kx_slice name;
    struct kx_slice labels; /* raw, without braces */
    double value;
};

struct metrics_parse {
    struct sample *samples;
    size_t count;
};

/* Reads the text format of Prometheus as /metrics writes it; the samples lie in
 * memory, and point into text. False when memory ran out or a line is none. */
bool metrics_parse_read(void *memory, struct kx_slice text,
                        struct metrics_parse *scrape_out);

/* Makes counters and histograms of now what they grew by since before; gauges
 * stay. One that fell was begun anew. */
void metrics_parse_subtract(struct metrics_parse *now,
                            const struct metrics_parse *before);

/* The sum of all samples with this name whose labels begin with the text;
 * 0 when there is none. */
double metrics_parse_sum(const struct metrics_parse *scrape, const char *name,
                         const char *labels);

/* The value of a label of a sample; empty when it has none. Labels must not be
 * escaped, as those of Kindex are not. */
struct kx_slice metrics_parse_label(const struct sample *sample,
                                    const char *label);

/* Is it a sample of this name? */
bool metrics_parse_is(const struct sample *sample, const char *name);

/* The value under which a share of what a histogram counted lies, between its
 * bounds in proportion; of all its samples whose labels begin with the text. 0
 * when it has counted nothing; the last bound for what lies above it. */
double metrics_parse_quantile(const struct metrics_parse *scrape,
                              const char *name, const char *labels,
                              double share);

#endif
