/* kindex atomic, explain: send a document from a file or standard input. */
#include "cli/cli_http.h"

#include "cli/cli_files.h"
#include "cli/cli_show.h"

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

int cli_explain(struct cli *cli)
{
    struct kx_buffer document;
    if (!read_document(cli, &document))
        return CLI_ERROR;
    return post(cli, "/explain", kx_buffer_slice(&document));
}
