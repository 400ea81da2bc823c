/* The report of kindex top, as tables and as JSON. */
#include "cli/bulk/cli_top.h"

#include <stdio.h>

#include "cli/cli_show.h"

static const char REQUESTS[] = "kindex_http_requests_total";
static const char DURATION[] = "kindex_http_request_duration_seconds";

enum { LABELS_MAX = 192 };

static double value(const struct cli_top *top, const char *name)
{
    return metrics_parse_sum(top->scrape, name, "");
}

static double quantile_ms(const struct cli_top *top, const char *name,
                          const char *labels, double share)
{
    return metrics_parse_quantile(top->scrape, name, labels, share) * 1000;
}

/* Requests with statuses of one class. */
static double failures(const struct cli_top *top, const char *labels,
                       const char *status)
{
    char all[LABELS_MAX];
    snprintf(all, sizeof all, "%sstatus=\"%s\"", labels, status);
    return cli_top_rate(top, REQUESTS, all);
}

static double mean_batch(const struct cli_top *top)
{
    double count = value(top, "kindex_batch_commits_count");
    return count > 0 ? value(top, "kindex_batch_commits_sum") / count : 0;
}

/* Small rates get more decimals: over many hours a rate may be small without
 * being 0. */
static int decimals(double rate)
{
    return rate > 0 && rate < 1 ? 3 : 1;
}

struct size_text {
    char of[32];
};

/* Such as "12.3 MiB". */
static struct size_text bytes(double number)
{
    static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    struct size_text text;
    int unit = 0;
    for (; number >= 1024 && unit < 4; unit++)
        number /= 1024;
    snprintf(text.of, sizeof text.of, unit == 0 ? "%.0f %s" : "%.1f %s", number,
             UNITS[unit]);
    return text;
}

/* ---- Tables ------------------------------------------------------------- */

static void heading(const struct cli_top *top, const char *text)
{
    printf("\n%s%s%s\n", cli_bold(top->cli), text, cli_plain(top->cli));
}

static void show_route(const struct cli_top *top, const char *method,
                       const char *route, const char *labels, size_t number)
{
    double rate = cli_top_rate(top, REQUESTS, labels);
    double mistakes = failures(top, labels, "4xx");
    double errors = failures(top, labels, "5xx");
    (void)number;
    printf("%-7s %-28s %10.*f %9.3f %9.3f %9.*f %9.*f\n", method, route,
           decimals(rate), rate, quantile_ms(top, DURATION, labels, 0.5),
           quantile_ms(top, DURATION, labels, 0.99), decimals(mistakes),
           mistakes, decimals(errors), errors);
}

static void show_requests(const struct cli_top *top)
{
    double rate = cli_top_rate(top, REQUESTS, "");
    double slow = cli_top_rate(top, "kindex_http_slow_requests_total", "");
    printf("requests  %.*f/s, %.0f in flight, %.0f connections, %.0f watches, "
           "%.*f/s slow\n",
           decimals(rate), rate, value(top, "kindex_http_requests_in_flight"),
           value(top, "kindex_http_connections"),
           value(top, "kindex_watch_streams"), decimals(slow), slow);
}

static void show_writer(const struct cli_top *top)
{
    double commits = cli_top_rate(top, "kindex_txn_total", "result=\"commit\"");
    double refused = cli_top_rate(top, "kindex_txn_total", "") - commits;
    printf("commits   %.*f/s, %.*f/s refused, %.0f waiting, p50 %.3f ms, "
           "p99 %.3f ms\n",
           decimals(commits), commits, decimals(refused), refused,
           value(top, "kindex_commits_queued"),
           quantile_ms(top, "kindex_txn_duration_seconds", "", 0.5),
           quantile_ms(top, "kindex_txn_duration_seconds", "", 0.99));
    printf(
        "batches   %.1f commits each, p99 %.0f; flush p50 %.3f ms, "
        "p99 %.3f ms\n",
        mean_batch(top),
        metrics_parse_quantile(top->scrape, "kindex_batch_commits", "", 0.99),
        quantile_ms(top, "kindex_flush_duration_seconds", "", 0.5),
        quantile_ms(top, "kindex_flush_duration_seconds", "", 0.99));
}

static void show_storage(const struct cli_top *top)
{
    printf("cache     records %.1f %% hits, pages %.1f %% hits, %.0f dirty, "
           "%.1f/s evicted\n",
           100 * cli_top_share(top, "kindex_record_cache_hits_total",
                               "kindex_record_cache_misses_total"),
           100 * cli_top_share(top, "kindex_page_cache_hits_total",
                               "kindex_page_cache_misses_total"),
           value(top, "kindex_page_cache_dirty_pages"),
           cli_top_rate(top, "kindex_page_cache_evictions_total", ""));
    printf("disk      %.0f entries in %s, %.0f log files with %s, %s free\n",
           value(top, "kindex_keys"),
           bytes(value(top, "kindex_store_bytes")).of,
           value(top, "kindex_log_files"),
           bytes(value(top, "kindex_log_bytes")).of,
           bytes(value(top, "kindex_disk_free_bytes")).of);
    printf("process   %s resident, %.1f %% CPU\n",
           bytes(value(top, "process_resident_memory_bytes")).of,
           100 * cli_top_rate(top, "process_cpu_seconds_total", ""));
}

/* The labels that the samples of an index begin with. */
static struct kx_slice index_labels(const struct sample *sample, char *labels)
{
    struct kx_slice name = metrics_parse_label(sample, "index");
    snprintf(labels, LABELS_MAX, "index=\"%.*s\"", (int)name.size,
             (const char *)name.data);
    return name;
}

static void show_index(const struct cli_top *top, const struct sample *sample)
{
    char labels[LABELS_MAX], progress[32] = "";
    struct kx_slice name = index_labels(sample, labels);
    struct kx_slice state = cli_top_state(top, labels);
    if (!kx_equal(state, kx_text("ready")))
        snprintf(progress, sizeof progress, "%.1f %%",
                 100 * metrics_parse_sum(top->scrape,
                                         "kindex_index_build_progress_ratio",
                                         labels));
    double reads = cli_top_rate(top, "kindex_index_reads_total", labels);
    double writes = cli_top_rate(top, "kindex_index_writes_total", labels);
    printf("%-28.*s %-11.*s %12.0f %10.*f %10.*f %9s\n", (int)name.size,
           (const char *)name.data, (int)state.size, (const char *)state.data,
           sample->value, decimals(reads), reads, decimals(writes), writes,
           progress);
}

static void show_indexes(const struct cli_top *top)
{
    bool any = false;
    for (size_t i = 0; i < top->scrape->count; i++) {
        const struct sample *sample = &top->scrape->samples[i];
        if (!metrics_parse_is(sample, "kindex_index_entries"))
            continue;
        if (!any)
            heading(top, "INDEX                        STATE            ENTRIES"
                         "    READS/S   WRITES/S  PROGRESS");
        any = true;
        show_index(top, sample);
    }
}

void cli_top_show(const struct cli_top *top)
{
    printf("%s, up %.0f s, %s %.1f s\n\n", top->cli->url, top->up_seconds,
           top->seconds < top->up_seconds ? "the last" : "all", top->seconds);
    show_requests(top);
    show_writer(top);
    show_storage(top);
    heading(top, "METHOD  ROUTE                        REQUESTS/S    p50 ms"
                 "    p99 ms     4xx/s     5xx/s");
    cli_top_routes(top, show_route);
    show_indexes(top);
}

/* ---- JSON --------------------------------------------------------------- */

static void print_route(const struct cli_top *top, const char *method,
                        const char *route, const char *labels, size_t number)
{
    printf("%s{\"method\":\"%s\",\"route\":\"%s\",\"requests\":%.0f,"
           "\"perSecond\":%.3f,\"p50Ms\":%.4f,\"p99Ms\":%.4f}",
           number > 0 ? "," : "", method, route,
           metrics_parse_sum(top->scrape, REQUESTS, labels),
           cli_top_rate(top, REQUESTS, labels),
           quantile_ms(top, DURATION, labels, 0.5),
           quantile_ms(top, DURATION, labels, 0.99));
}

static void print_indexes(const struct cli_top *top)
{
    const char *comma = "";
    for (size_t i = 0; i < top->scrape->count; i++) {
        const struct sample *sample = &top->scrape->samples[i];
        char labels[LABELS_MAX];
        if (!metrics_parse_is(sample, "kindex_index_entries"))
            continue;
        struct kx_slice name = index_labels(sample, labels);
        struct kx_slice state = cli_top_state(top, labels);
        printf("%s{\"name\":\"%.*s\",\"state\":\"%.*s\",\"entries\":%.0f,"
               "\"progress\":%.4f}",
               comma, (int)name.size, (const char *)name.data, (int)state.size,
               (const char *)state.data, sample->value,
               metrics_parse_sum(top->scrape,
                                 "kindex_index_build_progress_ratio", labels));
        comma = ",";
    }
}

void cli_top_json(const struct cli_top *top)
{
    printf(
        "{\"seconds\":%.3f,\"commits\":%.0f,\"queued\":%.0f,"
        "\"batchMean\":%.3f,\"connections\":%.0f,\"watches\":%.0f,"
        "\"recordCacheHits\":%.4f,\"pageCacheHits\":%.4f,\"routes\":[",
        top->seconds,
        metrics_parse_sum(top->scrape, "kindex_txn_total", "result=\"commit\""),
        value(top, "kindex_commits_queued"), mean_batch(top),
        value(top, "kindex_http_connections"),
        value(top, "kindex_watch_streams"),
        cli_top_share(top, "kindex_record_cache_hits_total",
                      "kindex_record_cache_misses_total"),
        cli_top_share(top, "kindex_page_cache_hits_total",
                      "kindex_page_cache_misses_total"));
    cli_top_routes(top, print_route);
    printf("],\"indexes\":[");
    print_indexes(top);
    printf("]}\n");
}
