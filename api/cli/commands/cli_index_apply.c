/* kindex index apply: makes the indexes match a file of declarations. */
#include "cli/commands/cli_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_input.h"
#include "cli/cli_json.h"
#include "cli/cli_show.h"
#include "cli/cli_terminal.h"

static bool is_change(const char *change, const char *wanted)
{
    return change != NULL && strcmp(change, wanted) == 0;
}

/* Shows the estimated size, time and conflicts of an index that would be built.
 */
static void show_estimate(struct kx_slice estimate)
{
    struct kx_slice seconds;
    printf(" %10" PRIu64 " entries %12" PRIu64 " bytes",
           cli_number(estimate, "entries"), cli_number(estimate, "bytes"));
    if (cli_json_member(estimate, "seconds", &seconds)) {
        putchar(' ');
        cli_put_column(stdout, seconds, -6);
        fputs(" s", stdout);
    }
    printf(" %" PRIu64 " conflicts", cli_number(estimate, "conflicts"));
}

static void show_line(const struct cli *cli, struct kx_slice planned)
{
    struct kx_slice part;
    struct kx_slice name;
    struct kx_slice warning;
    struct kx_json_iter iter;
    const char *index = cli_text(cli, planned, "name");
    const char *change = cli_text(cli, planned, "change");
    printf("%s%-28s%s %-9s", cli_tint(cli), index != NULL ? index : "?",
           cli_plain(cli), change != NULL ? change : "?");
    if (cli_json_member(planned, "estimate", &part)) {
        show_estimate(part);
    } else if (cli_json_member(planned, "entries", &part)) {
        putchar(' ');
        cli_put_column(stdout, part, -10);
        printf(" entries %12" PRIu64 " bytes", cli_number(planned, "bytes"));
    }
    putchar('\n');
    if (!cli_json_member(planned, "warnings", &part) ||
        !kx_json_iterate(part, &iter))
        return;
    while (kx_json_next(&iter, &name, &warning))
        cli_show_bytes(cli, warning);
}

/* Begins to iterate over the array `indexes` of the answer. False after
 * printing an error. */
static bool begin(const struct cli_reply *reply, struct kx_json_iter *iter)
{
    struct kx_slice indexes;
    return cli_json_member(kx_buffer_slice(&reply->body), "indexes",
                           &indexes) &&
           kx_json_iterate(indexes, iter);
}

static int show_all(const struct cli *cli, const struct cli_reply *reply)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice planned;
    if (cli->form == CLI_JSON || cli->form == CLI_RAW) {
        cli_show_document(cli, kx_buffer_slice(&reply->body));
        return CLI_OK;
    }
    if (!begin(reply, &iter))
        return cli_fail("the server's answer has no indexes");
    while (kx_json_next(&iter, &name, &planned))
        show_line(cli, planned);
    return CLI_OK;
}

/* Follows each index until it is ready or conflicted. Returns the first exit
 * status that is not CLI_OK. */
static int follow_all(struct cli *cli, const struct cli_reply *reply)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice planned;
    int status = CLI_OK;
    if (!begin(reply, &iter))
        return CLI_OK;
    fflush(stdout);
    while (kx_json_next(&iter, &name, &planned)) {
        const char *index = cli_text(cli, planned, "name");
        if (index == NULL ||
            is_change(cli_text(cli, planned, "change"), "dropped"))
            continue;
        int followed = cli_index_follow(cli, index);
        status = status == CLI_OK ? followed : status;
    }
    return status;
}

int cli_index_apply(struct cli *cli)
{
    struct kx_buffer body;
    struct kx_buffer path;
    struct cli_reply reply;
    kx_buffer_init(&body, cli->memory);
    kx_buffer_init(&path, cli->memory);
    if (cli->dry_run && cli->wait)
        return cli_misuse(cli, "--plan and --wait exclude each other");
    if (!cli_input(cli->words[0], &body))
        return CLI_ERROR;
    kx_add_text(&path, "/indexes");
    cli_add_parameter(&path, "dry", cli->dry_run ? "true" : NULL);
    cli_add_parameter(&path, "prune", cli->prune ? "true" : NULL);
    struct cli_call call = {.method = "PUT",
                            .path = cli_whole(&path),
                            .body = kx_buffer_slice(&body)};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        status = show_all(cli, &reply);
    return status == CLI_OK && cli->wait ? follow_all(cli, &reply) : status;
}
