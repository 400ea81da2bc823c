/* kindex index verify: starts a verification of an index and shows its progress
 * until the report is complete. */
#include "cli/commands/cli_index.h"

#include <string.h>
#include <unistd.h>

#include "cli/cli_json.h"
#include "cli/cli_progress.h"
#include "cli/cli_show.h"

enum { PAUSE_US = 20000, PAUSE_MAX_US = 500000 };

static bool running(const struct cli *cli, struct kx_slice report)
{
    const char *state = cli_text(cli, report, "state");
    return state != NULL && strcmp(state, "running") == 0;
}

/* Polls until the report is complete and leaves it in *reply. */
static int wait_for_end(struct cli *cli, struct cli_reply *reply)
{
    struct kx_buffer path;
    struct cli_progress progress;
    useconds_t pause = PAUSE_US;
    int status = CLI_OK;
    cli_index_path(cli, "/verify", &path);
    struct cli_call call = {.method = "GET", .path = cli_whole(&path)};
    cli_progress_begin(&progress, "compared");
    while (status == CLI_OK && running(cli, kx_buffer_slice(&reply->body))) {
        struct kx_slice report = kx_buffer_slice(&reply->body);
        uint64_t done = cli_number(report, "done");
        cli_progress_show(&progress, done, done, cli_number(report, "total"));
        usleep(pause);
        pause = pause * 2 > PAUSE_MAX_US ? PAUSE_MAX_US : pause * 2;
        kx_buffer_free(&reply->body);
        status = cli_ask(cli, &call, reply);
    }
    cli_progress_clear(&progress);
    return status;
}

/* Returns CLI_CONFLICT if a difference was not repaired. */
static int judge(const struct cli *cli, struct kx_slice report)
{
    const char *state = cli_text(cli, report, "state");
    if (state == NULL || strcmp(state, "done") != 0)
        return cli_fail("the server's answer is not a finished report");
    uint64_t wrong =
        cli_number(report, "missing") + cli_number(report, "dangling") +
        cli_number(report, "stale") + cli_number(report, "duplicate");
    return wrong > cli_number(report, "mended") ? CLI_CONFLICT : CLI_OK;
}

int cli_index_verify(struct cli *cli)
{
    struct kx_buffer path;
    struct cli_reply reply;
    cli_index_path(cli, cli->repair ? "/verify?repair=true" : "/verify", &path);
    struct cli_call call = {.method = "POST", .path = cli_whole(&path)};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        status = wait_for_end(cli, &reply);
    if (status != CLI_OK)
        return status;
    cli_show_document(cli, kx_buffer_slice(&reply.body));
    return judge(cli, kx_buffer_slice(&reply.body));
}
