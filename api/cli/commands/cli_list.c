/* kindex ls, count and aggregate. */
#include "cli/cli_entries.h"

#include <stdio.h>
#include <string.h>
#include <talloc.h>

#include "cli/cli_json.h"
#include "cli/cli_show.h"

/* ---- ls ----------------------------------------------------------------- */

struct list_output {
    const struct cli *cli;
    uint64_t shown;
};

static bool list_entry(void *target, struct kx_slice entry)
{
    struct list_output *output = target;
    if (output->shown == 0)
        cli_show_heading(output->cli);
    cli_show_listed(output->cli, entry);
    output->shown++;
    return !ferror(stdout) &&
           (output->cli->limit == 0 || output->shown < output->cli->limit);
}

/* Appends one parameter for each of the comma-separated values. */
static void add_in(const struct cli *cli, struct kx_buffer *path)
{
    const char *next = cli->in;
    while (next != NULL) {
        size_t size = strcspn(next, ",");
        char *value = talloc_strndup(cli->memory, next, size);
        path->failed |= value == NULL;
        cli_add_key_parameter(path, "in", value);
        next = next[size] == ',' ? next + size + 1 : NULL;
    }
}

int cli_ls(struct cli *cli)
{
    struct list_output output = {.cli = cli};
    struct kx_buffer path;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/list");
    cli_add_selection(cli, &path);
    add_in(cli, &path);
    cli_add_parameter(&path, "order", cli->order);
    cli_add_parameter(&path, "where", cli->where);
    cli_add_parameter(&path, "fields", cli->fields);
    cli_add_parameter(&path, "preview", cli->preview);
    cli_add_parameter(&path, "share", cli->share);
    cli_add_parameter(&path, "keys",
                      cli->keys || cli->form == CLI_RAW ? "true" : NULL);
    if (cli->form == CLI_DEFAULT)
        cli->form = CLI_TABLE;
    int status = cli_entries(cli, cli_whole(&path), list_entry, &output);
    if (status == CLI_OK && output.shown == 0)
        cli_show_heading(cli);
    return status;
}

/* ---- count -------------------------------------------------------------- */

int cli_count(struct cli *cli)
{
    struct kx_buffer path;
    struct cli_reply reply;
    struct kx_slice count, exact;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/count");
    cli_add_selection(cli, &path);
    cli_add_parameter(&path, "estimate", cli->estimate ? "true" : NULL);
    struct cli_call call = {.method = "GET", .path = cli_whole(&path)};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    struct kx_slice document = kx_buffer_slice(&reply.body);
    if (cli->form != CLI_JSON && cli_json_member(document, "count", &count)) {
        if (cli_json_member(document, "exact", &exact) &&
            kx_equal(exact, kx_text("false")))
            putchar('~');
        document = count;
    }
    cli_show_bytes(cli, document);
    return CLI_OK;
}

/* ---- aggregate ---------------------------------------------------------- */

int cli_aggregate(struct cli *cli)
{
    struct kx_buffer path;
    struct cli_reply reply;
    cli->index = cli->words[0];
    cli->prefix = cli->count > 1 ? cli->words[1] : NULL;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/aggregate");
    cli_add_range(cli, &path);
    struct cli_call call = {.method = "GET", .path = cli_whole(&path)};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        cli_show_bytes(cli, kx_buffer_slice(&reply.body));
    return status;
}
