/* kindex index watch, and --wait: shows the events of one index until it is
 * ready or conflicted, or of all indexes. */
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
    bool ended; /* no event follows: the index is ready, conflicted or removed
                 */
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

int cli_index_follow(struct cli *cli, const char *name)
{
    struct following following = {.cli = cli};
    struct kx_buffer path;
    struct cli_reply reply;
    cli_index_address(cli, name, &path);
    cli_progress_begin(&following.progress, "indexed");
    struct cli_call call = {.method = "GET",
                            .path = cli_whole(&path),
                            .accept = "text/event-stream",
                            .may_pause = true,
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
        cli_fail("the server stopped before the index was ready or conflicted");
        return CLI_UNAVAILABLE;
    }
    if (strcmp(following.state, "conflicted") == 0)
        return CLI_CONFLICT;
    return strcmp(following.state, "failed") == 0 ? CLI_ERROR : CLI_OK;
}

/* ---- All indexes -------------------------------------------------------- */

struct overlooking {
    struct cli *cli;
    uint64_t count; /* lines shown */
};

/* An index that is gone has no state. */
static void show_line(const struct cli *cli, struct kx_slice index)
{
    struct kx_slice build;
    const char *name = cli_text(cli, index, "name");
    const char *state = cli_index_state(cli, index);
    printf("%s%-28s%s %s", cli_tint(cli), name != NULL ? name : "?",
           cli_plain(cli), state != NULL ? state : "gone");
    if (cli_json_member(index, "build", &build))
        printf(" %llu of %llu", (unsigned long long)cli_number(build, "done"),
               (unsigned long long)cli_number(build, "total"));
    putchar('\n');
}

static bool take_any(void *target, struct kx_slice line)
{
    struct overlooking *overlooking = target;
    const struct cli *cli = overlooking->cli;
    struct kx_fault fault;
    if (!kx_starts_with(line, kx_text("data: ")))
        return true;
    struct kx_slice index = kx_slice(line.data + 6, line.size - 6);
    if (kx_json_check_document(index, &fault) != KX_OK)
        return false;
    if (cli->form == CLI_JSON)
        cli_show_bytes(cli, index);
    else
        show_line(cli, index);
    fflush(stdout);
    overlooking->count++;
    return !ferror(stdout) && overlooking->count != cli->limit;
}

static int overlook(struct cli *cli)
{
    struct overlooking overlooking = {.cli = cli};
    struct cli_reply reply;
    struct cli_call call = {.method = "GET",
                            .path = kx_text("/indexes"),
                            .accept = "text/event-stream",
                            .may_pause = true,
                            .line = take_any,
                            .target = &overlooking};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK || ferror(stdout) ||
        (cli->limit > 0 && overlooking.count >= cli->limit))
        return status;
    cli_fail("the server ended the watch");
    return CLI_UNAVAILABLE;
}

int cli_index_watch(struct cli *cli)
{
    return cli->count == 0 ? overlook(cli)
                           : cli_index_follow(cli, cli->words[0]);
}
