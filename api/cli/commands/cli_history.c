/* kindex history: the server's metrics over time, one line for each step. */
#include "cli/cli_http.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli_json.h"
#include "cli/cli_show.h"
#include "cli/cli_terminal.h"

enum {
    COLUMNS_MAX = 24,
    LINES_DEFAULT = 20 /* the last ones */
};

/* Shown if the command line names no series. */
static char *const USUAL[] = {"requestsPerSecond", "requestP99Ms",
                              "commitsPerSecond", "connections", "entries"};

struct column {
    const char *name;
    struct kx_json_iter iter; /* of its values */
};

static bool begin_column(struct cli *cli, struct kx_slice series,
                         const char *name, struct column *column)
{
    struct kx_slice values;
    column->name = name;
    if (cli_json_member(series, name, &values) &&
        kx_json_iterate(values, &column->iter))
        return true;
    cli_misuse(cli,
               "%s: there is no such series; kindex history -o json has "
               "the names of all",
               name);
    return false;
}

static size_t count_of(struct kx_slice series, const char *name)
{
    struct kx_slice values, index, value;
    struct kx_json_iter iter;
    size_t count = 0;
    if (cli_json_member(series, name, &values) &&
        kx_json_iterate(values, &iter))
        while (kx_json_next(&iter, &index, &value))
            count++;
    return count;
}

static void show_heading(const struct cli *cli, const struct column *columns,
                         size_t count)
{
    printf("%s%-20s", cli_bold(cli), "TIME");
    for (size_t i = 0; i < count; i++) {
        putchar(' ');
        cli_put(stdout, kx_text(columns[i].name));
    }
    printf("%s\n", cli_plain(cli));
}

/* One value of each column. An unknown value is shown as a dash. */
static void show_line(struct column *columns, size_t count, uint64_t at_ms,
                      bool shown)
{
    char when[24];
    struct tm parts;
    struct kx_slice index, value;
    time_t seconds = (time_t)(at_ms / 1000);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ",
             gmtime_r(&seconds, &parts));
    if (shown)
        printf("%-20s", when);
    for (size_t i = 0; i < count; i++) {
        if (!kx_json_next(&columns[i].iter, &index, &value) || !shown)
            continue;
        if (kx_equal(value, kx_text("null")))
            value = kx_text("-");
        putchar(' ');
        cli_put_column(stdout, value, -(int)strlen(columns[i].name));
    }
    if (shown)
        putchar('\n');
}

static int show(struct cli *cli, struct kx_slice document)
{
    struct column columns[COLUMNS_MAX];
    struct kx_slice series;
    size_t count =
        cli->count > 0 ? (size_t)cli->count : sizeof USUAL / sizeof *USUAL;
    char *const *names = cli->count > 0 ? cli->words : USUAL;
    uint64_t from = cli_number(document, "from");
    uint64_t step = cli_number(document, "stepMs");
    if (!cli_json_member(document, "series", &series))
        return cli_fail("the reply has no series");
    for (size_t i = 0; i < count; i++)
        if (!begin_column(cli, series, names[i], &columns[i]))
            return CLI_MISUSE;
    size_t steps = count_of(series, names[0]);
    size_t most = cli->limit > 0 ? cli->limit : LINES_DEFAULT;
    show_heading(cli, columns, count);
    for (size_t i = 0; i < steps; i++)
        show_line(columns, count, from + i * step, steps - i <= most);
    return CLI_OK;
}

int cli_history(struct cli *cli)
{
    struct kx_buffer path;
    struct cli_reply reply;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/metrics/history");
    cli_add_parameter(&path, "step", cli->step);
    struct cli_call call = {.method = "GET", .path = cli_whole(&path)};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    if (cli->form != CLI_JSON)
        return show(cli, kx_buffer_slice(&reply.body));
    cli_show_document(cli, kx_buffer_slice(&reply.body));
    return CLI_OK;
}
