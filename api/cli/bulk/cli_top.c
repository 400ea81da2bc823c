/* kindex top: the activity of a server. On a terminal it repeatedly draws the
 * changes between two scrapes of /metrics; otherwise it prints one report of
 * the time since the server was started. */
#include "cli/bulk/cli_top.h"

#include <stdio.h>
#include <talloc.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli_http.h"

enum { LABELS_MAX = 192 };

double cli_top_rate(const struct cli_top *top, const char *name,
                    const char *labels)
{
    double sum = metrics_parse_sum(top->scrape, name, labels);
    return top->seconds > 0 ? sum / top->seconds : 0;
}

double cli_top_share(const struct cli_top *top, const char *hits,
                     const char *misses)
{
    double found = metrics_parse_sum(top->scrape, hits, "");
    double all = found + metrics_parse_sum(top->scrape, misses, "");
    return all > 0 ? found / all : 0;
}

struct kx_slice cli_top_state(const struct cli_top *top, const char *labels)
{
    for (size_t i = 0; i < top->scrape->count; i++) {
        const struct sample *sample = &top->scrape->samples[i];
        if (metrics_parse_is(sample, "kindex_index_state") &&
            sample->value == 1 &&
            kx_starts_with(sample->labels, kx_text(labels)))
            return metrics_parse_label(sample, "state");
    }
    return kx_text("?");
}

/* The samples of one route and method are consecutive; they differ in the
 * status. */
void cli_top_routes(const struct cli_top *top, cli_top_row *row)
{
    char last[LABELS_MAX] = "";
    size_t number = 0;
    for (size_t i = 0; i < top->scrape->count; i++) {
        const struct sample *sample = &top->scrape->samples[i];
        char route[64], method[16], labels[LABELS_MAX];
        if (!metrics_parse_is(sample, "kindex_http_requests_total") ||
            sample->value == 0)
            continue;
        struct kx_slice route_text = metrics_parse_label(sample, "route");
        struct kx_slice method_text = metrics_parse_label(sample, "method");
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

/* Gets one scrape, allocated in memory. */
static int fetch(struct cli *cli, void *memory, struct metrics_parse *scrape)
{
    struct cli_reply reply;
    struct cli_call call = {
        .method = "GET", .path = kx_text("/metrics"), .any = true};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    talloc_steal(memory, reply.body.data);
    if (metrics_parse_read(memory, kx_buffer_slice(&reply.body), scrape))
        return CLI_OK;
    return cli_fail("%s/metrics is not what a Kindex server answers", cli->url);
}

static double up_seconds(const struct metrics_parse *scrape)
{
    double now = (double)kx_now_ms() / 1000;
    double up =
        now - metrics_parse_sum(scrape, "process_start_time_seconds", "");
    return up > 0.001 ? up : 0.001;
}

static int report_once(struct cli *cli)
{
    struct metrics_parse scrape;
    int status = fetch(cli, cli->memory, &scrape);
    if (status != CLI_OK)
        return status;
    double up = up_seconds(&scrape);
    struct cli_top top = {
        .cli = cli, .scrape = &scrape, .seconds = up, .up_seconds = up};
    if (cli->form == CLI_JSON)
        cli_top_json(&top);
    else
        cli_top_show(&top);
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
static void draw(struct cli *cli, struct metrics_parse *now,
                 const struct metrics_parse *before, double seconds)
{
    struct cli_top top = {.cli = cli,
                          .scrape = now,
                          .seconds = seconds,
                          .up_seconds = up_seconds(now)};
    metrics_parse_subtract(now, before);
    fputs("\033[H\033[2J", stdout);
    cli_top_show(&top);
    fflush(stdout);
}

/* Each scrape has its own talloc context, which is freed after the comparison
 * with the next scrape. */
static int watch(struct cli *cli)
{
    void *last_memory = NULL;
    struct metrics_parse last = {.count = 0};
    uint64_t last_ns = 0;
    int status = CLI_OK;
    while (status == CLI_OK) {
        void *memory = talloc_new(cli->memory);
        struct metrics_parse now;
        status = fetch(cli, memory, &now);
        uint64_t now_ns = kx_monotonic_ns();
        if (status == CLI_OK && last_memory != NULL) {
            struct metrics_parse shown = now;
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
