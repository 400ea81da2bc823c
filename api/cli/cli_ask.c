/* Requests that must succeed. */
#include "cli/cli_http.h"

#include "cli/cli_problem.h"

int cli_ask(struct cli *cli, const struct cli_call *call,
            struct cli_reply *reply)
{
    int status = cli_send(cli, call, reply);
    if (status != CLI_OK)
        return status;
    if (reply->status / 100 != 2)
        return cli_problem(cli, reply);
    if (call->any || reply->body.size == 0 || cli_is_json(reply))
        return CLI_OK;
    return cli_fail("%s is not a Kindex server: its answer is not JSON",
                    cli->url);
}

int cli_fetch(struct cli *cli, const char *path, struct cli_reply *reply)
{
    struct cli_call call = {.method = "GET", .path = kx_text(path)};
    return cli_ask(cli, &call, reply);
}
