/* What kindex top shows of the figures of a server. */
#ifndef API_CLI_TOP_H
#define API_CLI_TOP_H

#include "cli/cli.h"
#include "cli/bulk/metrics_parse.h"

/* Figures, and what to make rates of. */
struct cli_top {
    const struct cli *cli;
    const struct metrics_parse *scrape; /* its counters: what they grew by */
    double seconds;                     /* in this time */
    double up_seconds;
};

/* Prints the report: tables for people, or one line of JSON. */
void cli_top_show(const struct cli_top *top);
void cli_top_json(const struct cli_top *top);

/* Calls `row` for each route and method that was asked for in the time, with
 * numbers from 0 and the labels that its samples begin with. */
typedef void cli_top_row(const struct cli_top *top, const char *method,
                         const char *route, const char *labels, size_t number);
void cli_top_routes(const struct cli_top *top, cli_top_row *row);

/* How many a second a counter grew by; labels as metrics_parse_sum has them. */
double cli_top_rate(const struct cli_top *top, const char *name,
                    const char *labels);
/* Of two counters the share of the first, 0 when both are 0. */
double cli_top_share(const struct cli_top *top, const char *hits,
                     const char *misses);

/* The state of an index, whose name stands in `labels` (index="a"). */
struct kx_slice cli_top_state(const struct cli_top *top, const char *labels);

#endif
