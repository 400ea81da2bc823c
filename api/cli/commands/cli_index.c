/* kindex index ls, show, get, migrate, pause, resume, throttle, conflicts,
 * rm. Declarations are in cli_index_add.c, waiting in cli_index_watch.c. */
#include "cli/commands/cli_index.h"

#include <stdio.h>
#include <string.h>
#include <talloc.h>

#include "cli/cli_pages.h"
#include "cli/cli_json.h"
#include "cli/cli_show.h"
#include "cli/cli_terminal.h"

void cli_index_address(struct cli *cli, const char *name,
                       struct kx_buffer *path)
{
    kx_buffer_init(path, cli->memory);
    kx_add_text(path, "/indexes/");
    cli_add_key(path, name);
}

void cli_index_path(struct cli *cli, const char *tail, struct kx_buffer *path)
{
    cli_index_address(cli, cli->words[0], path);
    kx_add_text(path, tail);
}

int cli_index_call(struct cli *cli, const char *method, const char *tail,
                   struct kx_slice body)
{
    struct kx_buffer path;
    struct cli_reply reply;
    cli_index_path(cli, tail, &path);
    struct cli_call call = {
        .method = method, .path = cli_whole(&path), .body = body};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        cli_show_document(cli, kx_buffer_slice(&reply.body));
    return status;
}

const char *cli_index_state(const struct cli *cli, struct kx_slice index)
{
    struct kx_slice migration;
    if (cli_json_member(index, "migration", &migration)) {
        const char *state = cli_text(cli, migration, "state");
        if (state != NULL && strcmp(state, "conflicted") == 0)
            return state;
    }
    return cli_text(cli, index, "state");
}

/* ---- ls ----------------------------------------------------------------- */

static struct kx_slice member_or(struct kx_slice object, const char *name,
                                 const char *other)
{
    struct kx_slice value;
    return cli_json_member(object, name, &value) ? value : kx_text(other);
}

/* The members that distinguish indexes with the same fields. */
static void show_rest(struct kx_slice index)
{
    struct kx_slice store = member_or(index, "store", "\"pointer\"");
    struct kx_slice where;
    if (!kx_equal(store, kx_text("\"pointer\""))) {
        fputs(" store ", stdout);
        cli_put(stdout, store);
    }
    if (cli_json_member(index, "where", &where)) {
        fputs(" where ", stdout);
        cli_put(stdout, where);
    }
    putchar('\n');
}

static void show_row(const struct cli *cli, struct kx_slice index)
{
    struct kx_slice entries = member_or(index, "entries", "");
    struct kx_slice prefix = member_or(index, "prefix", "");
    struct kx_slice fields = member_or(index, "fields", "");
    bool unique = kx_equal(member_or(index, "unique", ""), kx_text("true"));
    const char *name = cli_text(cli, index, "name");
    const char *state = cli_index_state(cli, index);
    printf("%s%-28s%s %-10s ", cli_tint(cli), name != NULL ? name : "?",
           cli_plain(cli), state != NULL ? state : "?");
    cli_put_column(stdout, entries, -10);
    printf(" %-7s ", unique ? "unique" : "");
    cli_put(stdout, prefix);
    putchar(' ');
    cli_put(stdout, fields);
    show_rest(index);
}

static void show_heading(const struct cli *cli)
{
    if (cli->form == CLI_DEFAULT || cli->form == CLI_TABLE)
        printf("%s%-28s %-10s %10s %-7s %s%s\n", cli_bold(cli), "INDEX",
               "STATE", "ENTRIES", "", "PREFIX FIELDS", cli_plain(cli));
}

static void show_index(const struct cli *cli, void *target,
                       struct kx_slice index)
{
    bool *headed = target;
    const char *name = cli_text(cli, index, "name");
    if (!*headed)
        show_heading(cli);
    *headed = true;
    if (cli->form == CLI_JSON)
        cli_show_bytes(cli, index);
    else if (cli->form == CLI_RAW)
        puts(name != NULL ? name : "?");
    else
        show_row(cli, index);
}

static int show_declarations(struct cli *cli)
{
    struct cli_reply reply;
    struct cli_call call = {.method = "GET",
                            .path = kx_text("/indexes?declarations=true")};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        cli_show_document(cli, kx_buffer_slice(&reply.body));
    return status;
}

int cli_index_ls(struct cli *cli)
{
    if (cli->form == CLI_DECLARATIONS)
        return show_declarations(cli);
    bool headed = false;
    int status =
        cli_pages(cli, kx_text("/indexes"), "indexes", show_index, &headed);
    if (status == CLI_OK && !headed)
        show_heading(cli);
    return status;
}

/* ---- One index ---------------------------------------------------------- */

int cli_index_show(struct cli *cli)
{
    return cli_index_call(cli, "GET", "", kx_slice(NULL, 0));
}

int cli_index_rm(struct cli *cli)
{
    return cli_index_call(cli, "DELETE", "", kx_slice(NULL, 0));
}

int cli_index_pause(struct cli *cli)
{
    return cli_index_call(cli, "POST", "/pause", kx_slice(NULL, 0));
}

int cli_index_resume(struct cli *cli)
{
    return cli_index_call(cli, "POST", "/resume", kx_slice(NULL, 0));
}

int cli_index_throttle(struct cli *cli)
{
    struct kx_fault fault;
    char *body =
        talloc_asprintf(cli->memory, "{\"perSecond\":%s}", cli->words[1]);
    if (body == NULL)
        return cli_fail("memory ran out");
    if (kx_json_check(kx_text(cli->words[1]), &fault) != KX_OK)
        return cli_misuse(cli, "\"%s\" is neither a number nor null",
                          cli->words[1]);
    return cli_index_call(cli, "POST", "/throttle", kx_text(body));
}

int cli_index_get(struct cli *cli)
{
    struct kx_buffer path;
    struct cli_reply reply;
    cli_index_path(cli, "/get/", &path);
    cli_add_key(&path, cli->words[1]);
    cli_add_parameter(&path, "fields", cli->fields);
    struct cli_call call = {
        .method = "GET", .path = cli_whole(&path), .any = true};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        cli_show_bytes(cli, kx_buffer_slice(&reply.body));
    return status;
}

static void show_key(const struct cli *cli, struct kx_slice key)
{
    struct kx_buffer path;
    kx_buffer_init(&path, cli->memory);
    cli_key_path(cli, key, &path);
    printf("%.*s", (int)path.size, (const char *)path.data);
    kx_buffer_free(&path);
}

/* Prints the value and, indented, its entries; raw: only the entries' paths. */
static void show_group(const struct cli *cli, void *target,
                       struct kx_slice group)
{
    struct kx_slice value = member_or(group, "value", "?");
    struct kx_slice keys, name, key;
    struct kx_json_iter iter;
    *(bool *)target = true;
    if ((cli->form != CLI_TABLE && cli->form != CLI_RAW) ||
        !cli_json_member(group, "keys", &keys) ||
        !kx_json_iterate(keys, &iter)) {
        cli_show_bytes(cli, group);
        return;
    }
    if (cli->form == CLI_TABLE) {
        fputs(cli_bold(cli), stdout);
        cli_put(stdout, value);
        printf("%s\n", cli_plain(cli));
    }
    while (kx_json_next(&iter, &name, &key)) {
        fputs(cli->form == CLI_TABLE ? "  " : "", stdout);
        show_key(cli, key);
        putchar('\n');
    }
}

/* Returns CLI_CONFLICT if there are any conflicts. */
int cli_index_conflicts(struct cli *cli)
{
    struct kx_buffer path;
    bool found = false;
    cli_index_path(cli, "/conflicts", &path);
    int status =
        cli_pages(cli, cli_whole(&path), "conflicts", show_group, &found);
    return status == CLI_OK && found ? CLI_CONFLICT : status;
}
