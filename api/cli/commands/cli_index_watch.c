/* kindex index watch, and --wait: the events of an index until it has
 * settled. */
#include "cli/commands/cli_index.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli_json.h"
#include "cli/cli_progress.h"
#include "cli/cli_show.h"

struct following {
    struct cli *cli;
    struct cli_progress progress;
    char state[32];
    bool ended; /* settled or removed: no event follows */
    bool gone;
};

static void show_event(struct following *following, struct kx_slice index)
{
    struct kx_slice build;
    const char *state = cli_index_state(following->cli, index);
    snprintf(following->state, sizeof following->state, "%s",
             state != NULL ? state : "");
    if (following->ended || following->cli->form == CLI_JSON) {
        cli_progress_clear(&following->progress);
        cli_show_document(following->cli, index);
        fflush(stdout);
    } else if (cli_json_member(index, "build", &build)) {
        uint64_t done = cli_number(build, "done");
        cli_progress_show(&following->progress, done, done,
                          cli_number(build, "total"));
    }
}

/* Takes a line of server-sent events; only `event:` and `data:` are used. */
static bool take_line(void *target, struct kx_slice line)
{
    struct following *following = target;
    struct kx_fault fault;
    struct kx_slice data;
    if (kx_equal(line, kx_text("event: settled")))
        following->ended = true;
    if (kx_equal(line, kx_text("event: gone")))
        following->ended = following->gone = true;
    if (!kx_starts_with(line, kx_text("data: ")))
        return true;
    data = kx_slice(line.data + 6, line.size - 6);
    if (kx_json_check_document(data, &fault) != KX_OK)
        return false;
    show_event(following, data);
    return !following->ended;
}

int cli_index_follow(struct cli *cli)
{
    struct following following = {.cli = cli};
    struct kx_buffer path;
    struct cli_reply reply;
    cli_index_path(cli, "", &path);
    cli_progress_begin(&following.progress, "indexed");
    struct cli_call call = {.method = "GET",
                            .path = cli_whole(&path),
                            .accept = "text/event-stream",
                            .line = take_line,
                            .target = &following};
    int status = cli_ask(cli, &call, &reply);
    cli_progress_clear(&following.progress);
    if (status != CLI_OK)
        return status;
    if (following.gone) {
        cli_fail("the index is gone");
        return CLI_ABSENT;
    }
    if (!following.ended) {
        cli_fail("the server stopped before the index had settled");
        return CLI_UNAVAILABLE;
    }
    if (strcmp(following.state, "conflicted") == 0)
        return CLI_CONFLICT;
    return strcmp(following.state, "failed") == 0 ? CLI_ERROR : CLI_OK;
}

int cli_index_watch(struct cli *cli)
{
    return cli_index_follow(cli);
}
