/* kindex sum: adds to a number by one mutation and prints the result. */
#include "cli/cli_http.h"

#include <stdio.h>

#include "cli/cli_json.h"
#include "cli/cli_show.h"

static void add_name(const char *name, struct kx_buffer *out)
{
    kx_add_text(out, ",\"");
    kx_add_text(out, name);
    kx_add_text(out, "\":");
}

/* Appends a member with a number; appends nothing if text is NULL. False if the
 * text is not a number, after printing so. */
static bool add_number(struct cli *cli, const char *name, const char *text,
                       struct kx_buffer *out)
{
    struct kx_fault fault;
    if (text == NULL)
        return true;
    if (kx_json_check(kx_text(text), &fault) != KX_OK ||
        kx_json_type(kx_text(text)) != KX_JSON_NUMBER) {
        cli_misuse(cli, "%s is not a number: %s", name, text);
        return false;
    }
    add_name(name, out);
    kx_add_text(out, text);
    return true;
}

static void add_text(const char *name, const char *text, struct kx_buffer *out)
{
    if (text == NULL)
        return;
    add_name(name, out);
    kx_json_escape(kx_text(text), out);
}

/* Writes the body of POST /atomic. False after printing an error. */
static bool write_document(struct cli *cli, struct kx_buffer *body)
{
    struct kx_buffer key;
    kx_buffer_init(&key, cli->memory);
    kx_buffer_init(body, cli->memory);
    if (!cli_read_key(cli, cli->words[0], &key))
        return false;
    kx_add_text(body, "{\"mutations\":[{\"type\":\"sum\",\"key\":");
    kx_key_to_json(kx_buffer_slice(&key), body);
    const char *number = cli->count == 2 ? cli->words[1] : "1";
    if (!add_number(cli, "value", number, body) ||
        !add_number(cli, "min", cli->min, body) ||
        !add_number(cli, "max", cli->max, body))
        return false;
    add_text("out", cli->out, body);
    add_text("ttl", cli->ttl, body);
    add_text("ttlOf", cli->ttl_of, body);
    kx_add_text(body, ",\"return\":\"new\"}]}");
    return true;
}

/* Prints the number; as JSON, the whole answer. */
static int show_number(const struct cli *cli, struct kx_slice document)
{
    struct kx_slice results, name, result, value;
    struct kx_json_iter iter;
    if (cli->form == CLI_JSON) {
        cli_show_bytes(cli, document);
        return CLI_OK;
    }
    if (!cli_json_member(document, "results", &results) ||
        !kx_json_iterate(results, &iter) ||
        !kx_json_next(&iter, &name, &result) ||
        !cli_json_member(result, "value", &value))
        return cli_fail("the server's answer has no number");
    cli_show_bytes(cli, value);
    return CLI_OK;
}

int cli_sum(struct cli *cli)
{
    struct kx_buffer body;
    struct cli_reply reply;
    if (!write_document(cli, &body))
        return CLI_MISUSE;
    struct cli_call call = {
        .method = "POST", .path = kx_text("/atomic"), .body = cli_whole(&body)};
    int status = cli_ask(cli, &call, &reply);
    return status == CLI_OK ? show_number(cli, kx_buffer_slice(&reply.body))
                            : status;
}
