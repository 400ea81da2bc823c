/* The report of kindex top on the metrics of a server. */
#ifndef API_CLI_TOP_H
#define API_CLI_TOP_H

#include "cli/cli.h"
#include "cli/bulk/metrics_parse.h"

/* Metrics, and the time for computing rates from them. */
struct cli_top {
    const struct cli *cli;
    const struct metrics_parse *scrape; /* counters: the increase ... */
    double seconds;                     /* ... during this time */
    double up_seconds;
};

/* Prints the report, as tables or as one line of JSON. */
void cli_top_show(const struct cli_top *top);
void cli_top_json(const struct cli_top *top);

/* Calls `row` for each route and method that had requests during the time, with
 * numbers from 0 and the labels that its samples begin with. */
typedef void cli_top_row(const struct cli_top *top, const char *method,
                         const char *route, const char *labels, size_t number);
void cli_top_routes(const struct cli_top *top, cli_top_row *row);

/* The increase of a counter per second; labels as for metrics_parse_sum. */
double cli_top_rate(const struct cli_top *top, const char *name,
                    const char *labels);
/* The share of the first of two counters in their sum; 0 when both are 0. */
double cli_top_share(const struct cli_top *top, const char *hits,
                     const char *misses);

/* The state of the index named in `labels` (index="a"). */
struct kx_slice cli_top_state(const struct cli_top *top, const char *labels);

#endif
