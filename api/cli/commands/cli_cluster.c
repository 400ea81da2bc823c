/* kindex cluster: status and step-down send requests to a node. accept-loss and
 * upgrade connect to the database, because they are needed when no node is
 * active. */
#include <stdio.h>

#include "cli/cli_http.h"
#include "cli/cli_json.h"
#include "cli/cli_show.h"

static const char *or_dash(const char *text)
{
    return text != NULL && *text != '\0' ? text : "-";
}

static void show_node(const struct cli *cli, struct kx_slice node)
{
    printf("%s%-20s%s %-8s %8llu %12llu %8llu %8.1f %-10s %s\n", cli_tint(cli),
           or_dash(cli_text(cli, node, "node")), cli_plain(cli),
           or_dash(cli_text(cli, node, "role")),
           (unsigned long long)cli_number(node, "epoch"),
           (unsigned long long)cli_number(node, "batch"),
           (unsigned long long)cli_number(node, "lag"),
           (double)cli_number(node, "seenMs") / 1000,
           or_dash(cli_text(cli, node, "version")),
           or_dash(cli_text(cli, node, "url")));
}

static void show_table(const struct cli *cli, struct kx_slice document)
{
    struct kx_json_iter iter;
    struct kx_slice nodes, index, node;
    printf("%s%-20s %-8s %8s %12s %8s %8s %-10s %s%s\n", cli_bold(cli), "NODE",
           "ROLE", "EPOCH", "BATCH", "LAG", "SEEN", "VERSION", "URL",
           cli_plain(cli));
    if (cli_json_member(document, "nodes", &nodes) &&
        kx_json_iterate(nodes, &iter))
        while (kx_json_next(&iter, &index, &node))
            show_node(cli, node);
}

int cli_cluster_status(struct cli *cli)
{
    struct cli_reply reply;
    int status = cli_fetch(cli, "/cluster", &reply);
    if (status != CLI_OK)
        return status;
    struct kx_slice document = kx_buffer_slice(&reply.body);
    if (cli->form == CLI_DEFAULT || cli->form == CLI_TABLE)
        show_table(cli, document);
    else
        cli_show_bytes(cli, document);
    return CLI_OK;
}

int cli_cluster_step_down(struct cli *cli)
{
    struct cli_reply reply;
    struct cli_call call = {.method = "POST",
                            .path = kx_text("/cluster/step-down")};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        cli_note("%s steps down",
                 or_dash(cli_text(cli, kx_buffer_slice(&reply.body), "node")));
    return status;
}

/* ---- By the database ---------------------------------------------------- */

/* CLI_OK or CLI_MISUSE. */
static int read_engine(const struct cli *cli, struct kx_options *options)
{
    if (cli->engine == NULL)
        return cli_misuse(cli, "--engine is missing: the address of the "
                               "database");
    kx_options_default(options);
    options->engine = cli->engine;
    options->engine_password_file = cli->engine_password_file;
    options->engine_insecure = cli->engine_insecure;
    return CLI_OK;
}

static int fail(enum kx_status status, const struct kx_fault *fault)
{
    return cli_fail("%s", fault->detail[0] != '\0' ? fault->detail
                                                   : kx_status_title(status));
}

int cli_cluster_accept_loss(struct cli *cli)
{
    struct kx_options options;
    struct kx_fault fault = {.detail = ""};
    struct kx_loss loss = {.lost = false};
    int code = read_engine(cli, &options);
    if (code != CLI_OK)
        return code;
    enum kx_status status =
        kx_cluster_accept(&options, cli->dry_run, &loss, &fault);
    if (status != KX_OK)
        return fail(status, &fault);
    bool below = loss.epoch < loss.known_epoch || loss.batch < loss.known_batch;
    if (loss.lost && !below)
        cli_note("the database has another batch %llu than %s has seen: that "
                 "one is lost, and nodes have written without it",
                 (unsigned long long)loss.known_batch, or_dash(loss.node));
    else if (loss.lost)
        cli_note("the database has epoch %llu and batch %llu; %s has seen "
                 "epoch %llu and batch %llu",
                 (unsigned long long)loss.epoch, (unsigned long long)loss.batch,
                 or_dash(loss.node), (unsigned long long)loss.known_epoch,
                 (unsigned long long)loss.known_batch);
    else
        fputs("no node has seen more than the database has\n", stderr);
    if (!cli->dry_run)
        fputs("accepted: versionstamps leap when a node becomes active\n",
              stderr);
    return CLI_OK;
}

int cli_cluster_upgrade(struct cli *cli)
{
    struct kx_options options;
    struct kx_fault fault = {.detail = ""};
    int code = read_engine(cli, &options);
    if (code != CLI_OK)
        return code;
    enum kx_status status = kx_cluster_upgrade(&options, &fault);
    if (status != KX_OK)
        return fail(status, &fault);
    fputs("the tables have the format of this version\n", stderr);
    return CLI_OK;
}
