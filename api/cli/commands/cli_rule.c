/* kindex rule ls, show, put, violations, rm; kindex usage. */
#include "cli/cli_http.h"

#include <stdio.h>

#include "cli/cli_files.h"
#include "cli/cli_json.h"
#include "cli/cli_lists.h"
#include "cli/cli_show.h"
#include "cli/cli_terminal.h"

/* Sets *path, which need not be initialized, to the address of the rule that
 * the first word names, then appends tail. */
static void rule_path(struct cli *cli, const char *tail, struct kx_buffer *path)
{
    kx_buffer_init(path, cli->memory);
    kx_add_text(path, "/rules/");
    cli_add_key(path, cli->words[0]);
    kx_add_text(path, tail);
}

static int call_rule(struct cli *cli, const char *method, const char *tail,
                     struct kx_slice body)
{
    struct kx_buffer path;
    struct cli_reply reply;
    rule_path(cli, tail, &path);
    struct cli_call call = {
        .method = method, .path = cli_whole(&path), .body = body};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        cli_show_document(cli, kx_buffer_slice(&reply.body));
    return status;
}

/* ---- ls ------------------------------------------------------------------ */

static void show_heading(const struct cli *cli)
{
    if (cli->form == CLI_DEFAULT || cli->form == CLI_TABLE)
        printf("%s%-28s %-10s %10s  %s%s\n", cli_bold(cli), "RULE", "STATE",
               "VIOLATIONS", "PREFIX", cli_plain(cli));
}

static void show_row(const struct cli *cli, struct kx_slice rule)
{
    struct kx_slice violations = kx_text("");
    struct kx_slice prefix = kx_text("");
    const char *name = cli_text(cli, rule, "name");
    const char *state = cli_text(cli, rule, "state");
    cli_json_member(rule, "violations", &violations);
    cli_json_member(rule, "prefix", &prefix);
    printf("%s%-28s%s %-10s ", cli_tint(cli), name != NULL ? name : "?",
           cli_plain(cli), state != NULL ? state : "?");
    cli_put_column(stdout, violations, -10);
    fputs("  ", stdout);
    cli_put(stdout, prefix);
    putchar('\n');
}

static void show_rule(const struct cli *cli, void *target, struct kx_slice rule)
{
    bool *headed = target;
    const char *name = cli_text(cli, rule, "name");
    if (!*headed)
        show_heading(cli);
    *headed = true;
    if (cli->form == CLI_JSON)
        cli_show_bytes(cli, rule);
    else if (cli->form == CLI_RAW)
        puts(name != NULL ? name : "?");
    else
        show_row(cli, rule);
}

int cli_rule_ls(struct cli *cli)
{
    bool headed = false;
    int status = cli_pages(cli, kx_text("/rules"), "rules", show_rule, &headed);
    if (status == CLI_OK && !headed)
        show_heading(cli);
    return status;
}

/* ---- One rule ------------------------------------------------------------ */

int cli_rule_show(struct cli *cli)
{
    return call_rule(cli, "GET", "", kx_slice(NULL, 0));
}

int cli_rule_rm(struct cli *cli)
{
    return call_rule(cli, "DELETE", "", kx_slice(NULL, 0));
}

int cli_rule_put(struct cli *cli)
{
    struct kx_buffer body;
    kx_buffer_init(&body, cli->memory);
    if (cli->count > 1)
        kx_add_text(&body, cli->words[1]);
    else if (!cli_input(cli->file, &body))
        return CLI_ERROR;
    return call_rule(cli, "PUT", cli->dry_run ? "?dry=true" : "",
                     kx_buffer_slice(&body));
}

/* ---- violations ---------------------------------------------------------- */

static void show_violation(const struct cli *cli, void *target,
                           struct kx_slice violation)
{
    struct kx_slice key;
    struct kx_buffer path;
    const char *pointer = cli_text(cli, violation, "pointer");
    const char *expected = cli_text(cli, violation, "expected");
    *(bool *)target = true;
    if (cli->form == CLI_JSON || !cli_json_member(violation, "key", &key)) {
        cli_show_bytes(cli, violation);
        return;
    }
    kx_buffer_init(&path, cli->memory);
    cli_key_path(cli, key, &path);
    cli_put(stdout, kx_buffer_slice(&path));
    kx_buffer_free(&path);
    if (cli->form != CLI_RAW)
        printf("  %s%sneeds %s", pointer != NULL ? pointer : "",
               pointer != NULL && pointer[0] != '\0' ? " " : "",
               expected != NULL ? expected : "?");
    putchar('\n');
}

/* Returns CLI_CONFLICT if there are any violations. */
int cli_rule_violations(struct cli *cli)
{
    struct kx_buffer path;
    bool found = false;
    rule_path(cli, "/violations", &path);
    int status =
        cli_pages(cli, cli_whole(&path), "violations", show_violation, &found);
    return status == CLI_OK && found ? CLI_CONFLICT : status;
}

/* ---- usage --------------------------------------------------------------- */

static void show_total(const struct cli *cli, void *target,
                       struct kx_slice total)
{
    bool *headed = target;
    struct kx_slice prefix = kx_text("");
    const char *rule = cli_text(cli, total, "rule");
    if (cli->form == CLI_JSON) {
        cli_show_bytes(cli, total);
        return;
    }
    if (!*headed && cli->form != CLI_RAW)
        printf("%s%-28s %10s %14s  %s%s\n", cli_bold(cli), "RULE", "ENTRIES",
               "BYTES", "PREFIX", cli_plain(cli));
    *headed = true;
    cli_json_member(total, "prefix", &prefix);
    printf("%-28s %10llu %14llu  ", rule != NULL ? rule : "?",
           (unsigned long long)cli_number(total, "entries"),
           (unsigned long long)cli_number(total, "bytes"));
    cli_put(stdout, prefix);
    putchar('\n');
}

int cli_usage(struct cli *cli)
{
    struct kx_buffer path;
    bool headed = false;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/usage?limit=1000");
    cli_add_key_parameter(&path, "prefix",
                          cli->count > 0 ? cli->words[0] : NULL);
    return cli_pages(cli, cli_whole(&path), "usage", show_total, &headed);
}
