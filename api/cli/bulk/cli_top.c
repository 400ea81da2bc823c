/* kindex top: the activity of a server. On a terminal it repeatedly draws the
 * changes between two scrapes of /metrics; otherwise it prints one report on
 * the time since the server started. */
#include <stdio.h>
#include <talloc.h>
#include <time.h>
#include <unistd.h>

#include "cli/bulk/metrics_scrape.h"
#include "cli/cli_http.h"
#include "cli/cli_show.h"
#include "cli/cli_terminal.h"

enum { LABELS_MAX = 192 };

static const char REQUESTS[] = "kindex_http_requests_total";
static const char DURATION[] = "kindex_http_request_duration_seconds";

/* Metrics, and the time for computing rates from them. */
struct top {
    const struct cli *cli;
    const struct metrics_scrape *scrape; /* counters have their increase in
                                          * `seconds` */
    double seconds;
    double up_seconds;
};

/* ---- Values ------------------------------------------------------------- */

/* The increase of a counter per second; labels as for metrics_scrape_sum. */
static double rate_of(const struct top *top, const char *name,
                      const char *labels)
{
    double sum = metrics_scrape_sum(top->scrape, name, labels);
    return top->seconds > 0 ? sum / top->seconds : 0;
}

/* The share of the first of two counters in their sum; 0 when both are 0. */
static double share_of(const struct top *top, const char *hits,
                       const char *misses)
{
    double found = metrics_scrape_sum(top->scrape, hits, "");
    double all = found + metrics_scrape_sum(top->scrape, misses, "");
    return all > 0 ? found / all : 0;
}

/* The state of the index named in `labels` (index="a"). */
static struct kx_slice state_of(const struct top *top, const char *labels)
{
    for (size_t i = 0; i < top->scrape->count; i++) {
        const struct metrics_sample *sample = &top->scrape->samples[i];
        if (metrics_scrape_is(sample, "kindex_index_state") &&
            sample->value == 1 &&
            kx_starts_with(sample->labels, kx_text(labels)))
            return metrics_scrape_label(sample, "state");
    }
    return kx_text("?");
}

/* Prints a route and method; number counts from 0, and its samples begin with
 * the labels. */
typedef void row_fn(const struct top *top, const char *method,
                    const char *route, const char *labels, size_t number);

/* Calls `row` for each route and method that had requests during the time. The
 * samples of one route and method are consecutive; they differ in the status.
 */
static void each_route(const struct top *top, row_fn *row)
{
    char last[LABELS_MAX] = "";
    size_t number = 0;
    for (size_t i = 0; i < top->scrape->count; i++) {
        const struct metrics_sample *sample = &top->scrape->samples[i];
        char route[64], method[16], labels[LABELS_MAX];
        if (!metrics_scrape_is(sample, "kindex_http_requests_total") ||
            sample->value == 0)
            continue;
        struct kx_slice route_text = metrics_scrape_label(sample, "route");
        struct kx_slice method_text = metrics_scrape_label(sample, "method");
        snprintf(route, sizeof route, "%.*s", (int)route_text.size,
                 (const char *)route_text.data);
        snprintf(method, sizeof method, "%.*s", (int)method_text.size,
                 (const char *)method_text.data);
        snprintf(labels, sizeof labels, "route=\"%s\",method=\"%s\",", route,
                 method);
        if (strcmp(labels, last) != 0)
            row(top, method, route, labels, number++);
        memcpy(last, labels, sizeof last);
    }
}

static double value(const struct top *top, const char *name)
{
    return metrics_scrape_sum(top->scrape, name, "");
}

static double quantile_ms(const struct top *top, const char *name,
                          const char *labels, double share)
{
    return metrics_scrape_quantile(top->scrape, name, labels, share) * 1000;
}

/* Requests with statuses of one class. */
static double failures(const struct top *top, const char *labels,
                       const char *status)
{
    char all[LABELS_MAX];
    snprintf(all, sizeof all, "%sstatus=\"%s\"", labels, status);
    return rate_of(top, REQUESTS, all);
}

static double mean_batch(const struct top *top)
{
    double count = value(top, "kindex_batch_commits_count");
    return count > 0 ? value(top, "kindex_batch_commits_sum") / count : 0;
}

/* Small rates get more decimals: a rate over many hours may be small but not 0.
 */
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

static void heading(const struct top *top, const char *text)
{
    printf("\n%s%s%s\n", cli_bold(top->cli), text, cli_plain(top->cli));
}

static void show_route(const struct top *top, const char *method,
                       const char *route, const char *labels, size_t number)
{
    double rate = rate_of(top, REQUESTS, labels);
    double mistakes = failures(top, labels, "4xx");
    double errors = failures(top, labels, "5xx");
    (void)number;
    cli_put_column(stdout, kx_text(method), 7);
    putchar(' ');
    cli_put_column(stdout, kx_text(route), 28);
    printf(" %10.*f %9.3f %9.3f %9.*f %9.*f\n", decimals(rate), rate,
           quantile_ms(top, DURATION, labels, 0.5),
           quantile_ms(top, DURATION, labels, 0.99), decimals(mistakes),
           mistakes, decimals(errors), errors);
}

static void show_requests(const struct top *top)
{
    double rate = rate_of(top, REQUESTS, "");
    double slow = rate_of(top, "kindex_http_slow_requests_total", "");
    printf("requests  %.*f/s, %.0f in flight, %.0f connections, %.0f watches, "
           "%.*f/s slow\n",
           decimals(rate), rate, value(top, "kindex_http_requests_in_flight"),
           value(top, "kindex_http_connections"),
           value(top, "kindex_watch_streams"), decimals(slow), slow);
}

static void show_writer(const struct top *top)
{
    double commits = rate_of(top, "kindex_txn_total", "result=\"commit\"");
    double refused = rate_of(top, "kindex_txn_total", "") - commits;
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
        metrics_scrape_quantile(top->scrape, "kindex_batch_commits", "", 0.99),
        quantile_ms(top, "kindex_flush_duration_seconds", "", 0.5),
        quantile_ms(top, "kindex_flush_duration_seconds", "", 0.99));
}

static void show_storage(const struct top *top)
{
    printf("cache     records %.1f %% hits, pages %.1f %% hits, %.0f dirty, "
           "%.1f/s evicted\n",
           100 * share_of(top, "kindex_record_cache_hits_total",
                          "kindex_record_cache_misses_total"),
           100 * share_of(top, "kindex_page_cache_hits_total",
                          "kindex_page_cache_misses_total"),
           value(top, "kindex_page_cache_dirty_pages"),
           rate_of(top, "kindex_page_cache_evictions_total", ""));
    printf("disk      %.0f entries in %s, %.0f log files with %s, %s free\n",
           value(top, "kindex_keys"),
           bytes(value(top, "kindex_store_bytes")).of,
           value(top, "kindex_log_files"),
           bytes(value(top, "kindex_log_bytes")).of,
           bytes(value(top, "kindex_disk_free_bytes")).of);
    printf("process   %s resident, %.1f %% CPU\n",
           bytes(value(top, "process_resident_memory_bytes")).of,
           100 * rate_of(top, "process_cpu_seconds_total", ""));
}

/* The labels that the samples of an index begin with. */
static struct kx_slice index_labels(const struct metrics_sample *sample,
                                    char *labels)
{
    struct kx_slice name = metrics_scrape_label(sample, "index");
    snprintf(labels, LABELS_MAX, "index=\"%.*s\"", (int)name.size,
             (const char *)name.data);
    return name;
}

static void show_index(const struct top *top,
                       const struct metrics_sample *sample)
{
    char labels[LABELS_MAX], progress[32] = "";
    struct kx_slice name = index_labels(sample, labels);
    struct kx_slice state = state_of(top, labels);
    if (!kx_equal(state, kx_text("ready")))
        snprintf(progress, sizeof progress, "%.1f %%",
                 100 * metrics_scrape_sum(top->scrape,
                                          "kindex_index_build_progress_ratio",
                                          labels));
    double reads = rate_of(top, "kindex_index_reads_total", labels);
    double writes = rate_of(top, "kindex_index_writes_total", labels);
    cli_put_column(stdout, name, 28);
    putchar(' ');
    cli_put_column(stdout, state, 11);
    printf(" %12.0f %10.*f %10.*f %9s\n", sample->value, decimals(reads), reads,
           decimals(writes), writes, progress);
}

static void show_indexes(const struct top *top)
{
    bool any = false;
    for (size_t i = 0; i < top->scrape->count; i++) {
        const struct metrics_sample *sample = &top->scrape->samples[i];
        if (!metrics_scrape_is(sample, "kindex_index_entries"))
            continue;
        if (!any)
            heading(top, "INDEX                        STATE            ENTRIES"
                         "    READS/S   WRITES/S  PROGRESS");
        any = true;
        show_index(top, sample);
    }
}

static void print_tables(const struct top *top)
{
    cli_put(stdout, kx_text(top->cli->url));
    printf(", up %.0f s, %s %.1f s\n\n", top->up_seconds,
           top->seconds < top->up_seconds ? "the last" : "all", top->seconds);
    show_requests(top);
    show_writer(top);
    show_storage(top);
    heading(top, "METHOD  ROUTE                        REQUESTS/S    p50 ms"
                 "    p99 ms     4xx/s     5xx/s");
    each_route(top, show_route);
    show_indexes(top);
}

/* ---- JSON --------------------------------------------------------------- */

static void print_route(const struct top *top, const char *method,
                        const char *route, const char *labels, size_t number)
{
    printf("%s{\"method\":\"", number > 0 ? "," : "");
    cli_put(stdout, kx_text(method));
    fputs("\",\"route\":\"", stdout);
    cli_put(stdout, kx_text(route));
    printf("\",\"requests\":%.0f,"
           "\"perSecond\":%.3f,\"p50Ms\":%.4f,\"p99Ms\":%.4f}",
           metrics_scrape_sum(top->scrape, REQUESTS, labels),
           rate_of(top, REQUESTS, labels),
           quantile_ms(top, DURATION, labels, 0.5),
           quantile_ms(top, DURATION, labels, 0.99));
}

static void print_indexes(const struct top *top)
{
    const char *comma = "";
    for (size_t i = 0; i < top->scrape->count; i++) {
        const struct metrics_sample *sample = &top->scrape->samples[i];
        char labels[LABELS_MAX];
        if (!metrics_scrape_is(sample, "kindex_index_entries"))
            continue;
        struct kx_slice name = index_labels(sample, labels);
        struct kx_slice state = state_of(top, labels);
        printf("%s{\"name\":\"", comma);
        cli_put(stdout, name);
        fputs("\",\"state\":\"", stdout);
        cli_put(stdout, state);
        printf("\",\"entries\":%.0f,\"progress\":%.4f}", sample->value,
               metrics_scrape_sum(top->scrape,
                                  "kindex_index_build_progress_ratio", labels));
        comma = ",";
    }
}

static void print_json(const struct top *top)
{
    printf("{\"seconds\":%.3f,\"commits\":%.0f,\"queued\":%.0f,"
           "\"batchMean\":%.3f,\"connections\":%.0f,\"watches\":%.0f,"
           "\"recordCacheHits\":%.4f,\"pageCacheHits\":%.4f,\"routes\":[",
           top->seconds,
           metrics_scrape_sum(top->scrape, "kindex_txn_total",
                              "result=\"commit\""),
           value(top, "kindex_commits_queued"), mean_batch(top),
           value(top, "kindex_http_connections"),
           value(top, "kindex_watch_streams"),
           share_of(top, "kindex_record_cache_hits_total",
                    "kindex_record_cache_misses_total"),
           share_of(top, "kindex_page_cache_hits_total",
                    "kindex_page_cache_misses_total"));
    each_route(top, print_route);
    printf("],\"indexes\":[");
    print_indexes(top);
    printf("]}\n");
}

/* ---- The command -------------------------------------------------------- */

/* Gets one scrape, allocated in memory. */
static int fetch(struct cli *cli, void *memory, struct metrics_scrape *scrape)
{
    struct cli_reply reply;
    struct cli_call call = {
        .method = "GET", .path = kx_text("/metrics"), .any = true};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    talloc_steal(memory, reply.body.data);
    if (metrics_scrape_parse(memory, kx_buffer_slice(&reply.body), scrape))
        return CLI_OK;
    return cli_fail("%s/metrics is not the answer of a Kindex server",
                    cli->url);
}

static double up_seconds(const struct metrics_scrape *scrape)
{
    double now = (double)kx_now_ms() / 1000;
    double up =
        now - metrics_scrape_sum(scrape, "process_start_time_seconds", "");
    return up > 0.001 ? up : 0.001;
}

static int report_once(struct cli *cli)
{
    struct metrics_scrape scrape;
    int status = fetch(cli, cli->memory, &scrape);
    if (status != CLI_OK)
        return status;
    double up = up_seconds(&scrape);
    struct top top = {
        .cli = cli, .scrape = &scrape, .seconds = up, .up_seconds = up};
    if (cli->form == CLI_JSON)
        print_json(&top);
    else
        print_tables(&top);
    return CLI_OK;
}

static void sleep_ms(uint64_t ms)
{
    struct timespec time = {.tv_sec = (time_t)(ms / 1000),
                            .tv_nsec = (long)(ms % 1000) * KX_MS_NS};
    nanosleep(&time, NULL);
}

/* Draws the changes between two scrapes. `before` is subtracted from `now` in
 * place. */
static void draw(struct cli *cli, struct metrics_scrape *now,
                 const struct metrics_scrape *before, double seconds)
{
    struct top top = {.cli = cli,
                      .scrape = now,
                      .seconds = seconds,
                      .up_seconds = up_seconds(now)};
    metrics_scrape_subtract(now, before);
    fputs("\033[H\033[2J", stdout);
    print_tables(&top);
    fflush(stdout);
}

/* Each scrape has its own talloc context, which is freed after the comparison
 * with the next scrape. */
static int watch(struct cli *cli)
{
    void *last_memory = NULL;
    struct metrics_scrape last = {.count = 0};
    uint64_t last_ns = 0;
    int status = CLI_OK;
    while (status == CLI_OK) {
        void *memory = talloc_new(cli->memory);
        struct metrics_scrape now;
        status = fetch(cli, memory, &now);
        uint64_t now_ns = kx_monotonic_ns();
        if (status == CLI_OK && last_memory != NULL) {
            struct metrics_scrape shown = now;
            shown.samples = talloc_memdup(memory, now.samples,
                                          now.count * sizeof *now.samples);
            if (shown.samples == NULL)
                return cli_fail("memory ran out");
            draw(cli, &shown, &last, (double)(now_ns - last_ns) / 1e9);
        }
        talloc_free(last_memory);
        last_memory = memory;
        last = now;
        last_ns = now_ns;
        sleep_ms(cli->every_ms);
    }
    return status;
}

int cli_top(struct cli *cli)
{
    if (cli->once || cli->form == CLI_JSON || !isatty(STDOUT_FILENO))
        return report_once(cli);
    return watch(cli);
}
