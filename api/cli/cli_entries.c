/* Streams of entries, the parameters that select them, and deleting them. */
#include "cli/cli_entries.h"

#include "cli/cli_json.h"

/* An open stream. Its last line is {"end":true,...}; without that line the list
 * was cut off. */
struct stream_state {
    cli_entry_fn *take;
    void *target;
    bool ended;
    bool stopped;
};

static bool take_line(void *target, struct kx_slice line)
{
    struct stream_state *state = target;
    struct kx_fault fault;
    struct kx_slice member;
    if (kx_json_check_document(line, &fault) != KX_OK)
        return false;
    if (cli_json_member(line, "end", &member)) {
        state->ended = true;
        return true;
    }
    if (!cli_json_member(line, "key", &member))
        return false;
    state->stopped = !state->take(state->target, line);
    return !state->stopped;
}

int cli_entries(struct cli *cli, struct kx_slice path, cli_entry_fn *take,
                void *target)
{
    struct stream_state state = {.take = take, .target = target};
    struct cli_reply reply;
    struct cli_call call = {.method = "GET",
                            .path = path,
                            .accept = "application/x-ndjson",
                            .line = take_line,
                            .target = &state};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK || state.ended || state.stopped)
        return status;
    cli_fail("the list ended early");
    return CLI_UNAVAILABLE;
}

void cli_add_selection(const struct cli *cli, struct kx_buffer *path)
{
    const char *prefix = cli->count > 0 ? cli->words[0] : cli->prefix;
    cli_add_parameter(path, "index", cli->index);
    cli_add_key_parameter(path, "prefix", prefix);
    cli_add_key_parameter(path, "start", cli->start);
    cli_add_key_parameter(path, "end", cli->end);
    cli_add_parameter(path, "reverse", cli->reverse ? "true" : NULL);
}

/* Each commit deletes at most a page; repeats until no entry remains. */
int cli_delete_all(struct cli *cli, const char *prefix, uint64_t *deleted_out)
{
    struct kx_buffer path;
    struct cli_reply reply;
    struct kx_slice more;
    *deleted_out = 0;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/list?limit=1000");
    cli_add_key_parameter(&path, "prefix", prefix);
    struct cli_call call = {.method = "DELETE", .path = cli_whole(&path)};
    do {
        int status = cli_ask(cli, &call, &reply);
        if (status != CLI_OK)
            return status;
        if (!cli_json_member(kx_buffer_slice(&reply.body), "deleted", &more))
            return cli_fail("the server's answer has no number of entries");
        *deleted_out += cli_number(kx_buffer_slice(&reply.body), "deleted");
    } while (cli_json_member(kx_buffer_slice(&reply.body), "more", &more) &&
             kx_equal(more, kx_text("true")));
    return CLI_OK;
}
