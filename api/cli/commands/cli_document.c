/* kindex atomic, explain: send a document from a file or standard input. */
#include "cli/cli_http.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/cli_files.h"
#include "cli/cli_json.h"
#include "cli/cli_show.h"
#include "cli/cli_terminal.h"

/* Reads the document: the first word or, without words, the file or standard
 * input. It must be a JSON object. */
static bool read_document(struct cli *cli, struct kx_buffer *document)
{
    struct kx_fault fault;
    kx_buffer_init(document, cli->memory);
    if (cli->count > 0)
        kx_add_text(document, cli->words[0]);
    else if (!cli_input(cli->file, document))
        return false;
    if (kx_json_check(kx_buffer_slice(document), &fault) == KX_OK) {
        if (kx_json_type(kx_buffer_slice(document)) == KX_JSON_OBJECT)
            return true;
        cli_fail("the document is not a JSON object");
        return false;
    }
    cli_fail("the document is not JSON: %s, at byte %zu", fault.detail,
             fault.offset);
    return false;
}

static int post(struct cli *cli, const char *path, struct kx_slice document)
{
    struct cli_reply reply;
    struct cli_call call = {
        .method = "POST", .path = kx_text(path), .body = document};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        cli_show_document(cli, kx_buffer_slice(&reply.body));
    return status;
}

int cli_atomic(struct cli *cli)
{
    struct kx_buffer document, merged;
    if (!read_document(cli, &document))
        return CLI_ERROR;
    if (!cli->dry_run)
        return post(cli, "/atomic", kx_buffer_slice(&document));
    kx_buffer_init(&merged, cli->memory);
    kx_json_merge(kx_buffer_slice(&document), kx_text("{\"dry\":true}"),
                  &merged);
    return post(cli, "/atomic", kx_buffer_slice(&merged));
}

/* ---- explain ------------------------------------------------------------ */

enum { ORDER_WIDTH = 28, ROWS_WIDTH = -10 };

/* Prints why an order does not answer the query, each reason on a line. */
static void show_reasons(const struct cli *cli, struct kx_slice order)
{
    struct kx_json_iter iter;
    struct kx_slice reasons;
    struct kx_slice name;
    struct kx_slice reason;
    if (!cli_json_member(order, "reasons", &reasons) ||
        !kx_json_iterate(reasons, &iter))
        return;
    while (kx_json_next(&iter, &name, &reason)) {
        const char *detail = cli_text(cli, reason, "detail");
        printf("    %s\n", detail != NULL ? detail : "?");
    }
}

/* Prints the row of an index or, without a name, of the entries themselves. */
static void show_order(const struct cli *cli, struct kx_slice order)
{
    struct kx_slice answers;
    struct kx_slice rows = kx_text("?");
    const char *index = cli_text(cli, order, "index");
    const char *request = cli_text(cli, order, "request");
    bool used = cli_json_member(order, "answers", &answers) &&
                kx_equal(answers, kx_text("true"));
    fputs(cli_tint(cli), stdout);
    cli_put_column(stdout, kx_text(index != NULL ? index : "(the entries)"),
                   ORDER_WIDTH);
    printf("%s %-7s ", cli_plain(cli), used ? "yes" : "no");
    cli_json_member(order, "rows", &rows);
    cli_put_column(stdout, rows, ROWS_WIDTH);
    printf(" %s\n", request != NULL ? request : "");
    show_reasons(cli, order);
}

/* Prints the answer for a reader: the request to send, then each order. */
static void show_explanation(const struct cli *cli, struct kx_slice answer)
{
    struct kx_json_iter iter;
    struct kx_slice part;
    struct kx_slice name;
    const char *request = cli_text(cli, answer, "request");
    printf("%s\n\n",
           request != NULL ? request : "no order answers the query by itself");
    printf("%s%-*s %-7s %*s %s%s\n", cli_bold(cli), ORDER_WIDTH, "ORDER",
           "ANSWERS", -ROWS_WIDTH, "ROWS", "REQUEST", cli_plain(cli));
    if (cli_json_member(answer, "entries", &part))
        show_order(cli, part);
    if (!cli_json_member(answer, "indexes", &part) ||
        !kx_json_iterate(part, &iter))
        return;
    while (kx_json_next(&iter, &name, &part))
        show_order(cli, part);
}

int cli_explain(struct cli *cli)
{
    struct kx_buffer document;
    struct cli_reply reply;
    if (!read_document(cli, &document))
        return CLI_ERROR;
    if (cli->form == CLI_DEFAULT && isatty(STDOUT_FILENO))
        cli->form = CLI_TABLE;
    if (cli->form != CLI_TABLE)
        return post(cli, "/explain", kx_buffer_slice(&document));
    struct cli_call call = {.method = "POST",
                            .path = kx_text("/explain"),
                            .body = kx_buffer_slice(&document)};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        show_explanation(cli, kx_buffer_slice(&reply.body));
    return status;
}
