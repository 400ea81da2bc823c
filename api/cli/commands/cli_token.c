/* kindex token create, ls, show, self, revoke, generate. */
#include "cli/cli_lists.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli_json.h"
#include "cli/cli_show.h"
#include "cli/cli_terminal.h"
#include "access/access.h"
#include "rest/key_text.h"

/* ---- create ------------------------------------------------------------- */

static bool add_scope(struct kx_slice name, bool first, struct kx_buffer *out)
{
    if (kx_scope_find(name) == 0)
        return false;
    kx_add_text(out, first ? "\"" : ",\"");
    kx_add_slice(out, name);
    kx_add_byte(out, '"');
    return true;
}

/* "read,list", or "all". */
static bool add_scopes(struct kx_slice names, struct kx_buffer *out)
{
    static const char ALL[] = "read,write,list,watch,index,admin,monitor";
    bool good = true;
    kx_add_text(out, "{\"scopes\":[");
    if (kx_equal(names, kx_text("all")))
        names = kx_text(ALL);
    for (bool first = true; good && names.size > 0; first = false) {
        const uint8_t *comma = memchr(names.data, ',', names.size);
        size_t size = comma != NULL ? (size_t)(comma - names.data) : names.size;
        good = add_scope(kx_slice(names.data, size), first, out);
        size += comma != NULL;
        names = kx_slice(names.data + size, names.size - size);
    }
    kx_add_text(out, "],\"prefix\":");
    return good;
}

/* Refuses a grant without a colon, unless it is "all": a missing colon must not
 * grant more than was meant. */
static bool names_keys(struct cli *cli, const char *text)
{
    if (strchr(text, ':') != NULL || strcmp(text, "all") == 0)
        return true;
    cli_misuse(
        cli, "%s: the prefix is missing; %s:users names a prefix, %s: all keys",
        text, text, text);
    return false;
}

/* Appends a grant: SCOPES:PREFIX, or "all" alone for everything. */
static bool add_grant(struct cli *cli, const char *text, struct kx_buffer *out)
{
    struct kx_buffer key;
    struct kx_buffer path;
    struct input_error error;
    size_t size = strcspn(text, ":");
    kx_buffer_init(&key, cli->memory);
    kx_buffer_init(&path, cli->memory);
    if (!add_scopes(kx_slice(text, size), out)) {
        cli_misuse(
            cli,
            "%s: a grant is scopes (read, write, list, watch, index, admin, "
            "monitor, or all) separated by commas, a colon and a prefix",
            text);
        return false;
    }
    if (!names_keys(cli, text))
        return false;
    bool some = text[size] == ':' && text[size + 1] != '\0';
    if (some)
        cli_add_key(&path, text + size + 1);
    if (some && !key_text_from_path(cli_whole(&path), &key, &error)) {
        cli_misuse(cli, "%s: %s", text, error.detail);
        return false;
    }
    kx_key_to_json(kx_buffer_slice(&key), out);
    kx_add_byte(out, '}');
    return true;
}

static bool make_document(struct cli *cli, struct kx_buffer *out)
{
    kx_buffer_init(out, cli->memory);
    kx_add_text(out, "{\"name\":");
    kx_json_escape(kx_text(cli->words[0]), out);
    if (cli->ttl != NULL) {
        kx_add_text(out, ",\"ttl\":");
        kx_json_escape(kx_text(cli->ttl), out);
    }
    for (int i = 1; i < cli->count; i++) {
        kx_add_text(out, i == 1 ? ",\"grants\":[" : ",");
        if (!add_grant(cli, cli->words[i], out))
            return false;
    }
    kx_add_text(out, "]}");
    return true;
}

/* Revokes the token whose secret cannot be printed: an unseen first token would
 * lock everybody out. */
static int take_back(struct cli *cli, const char *id, const char *token)
{
    struct cli_reply reply;
    char path[80];
    snprintf(path, sizeof path, "/tokens/%s", id);
    struct cli_call call = {.method = "DELETE", .path = kx_text(path)};
    if (cli->token == NULL)
        cli->token = token;
    int status = cli_ask(cli, &call, &reply);
    return status != CLI_OK
               ? status
               : cli_fail("the output cannot be written, so the token that was "
                          "made is revoked");
}

/* The secret is printed on its own line, so that a script can take it. */
int cli_token_create(struct cli *cli)
{
    struct kx_buffer document;
    struct cli_reply reply;
    if (!make_document(cli, &document))
        return CLI_MISUSE;
    struct cli_call call = {.method = "POST",
                            .path = kx_text("/tokens"),
                            .body = kx_buffer_slice(&document)};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    const char *token = cli_text(cli, kx_buffer_slice(&reply.body), "token");
    const char *id = cli_text(cli, kx_buffer_slice(&reply.body), "id");
    signal(SIGPIPE, SIG_IGN);
    if (cli->form == CLI_JSON || cli->form == CLI_TABLE || token == NULL)
        cli_show_document(cli, kx_buffer_slice(&reply.body));
    else
        puts(token);
    return fflush(stdout) == 0 || token == NULL || id == NULL
               ? CLI_OK
               : take_back(cli, id, token);
}

/* ---- Others ------------------------------------------------------------- */

/* Prints a grant in the form that create takes, with the names of all scopes.
 */
static void show_grant(const struct cli *cli, struct kx_slice grant)
{
    struct kx_buffer text;
    struct kx_json_iter iter;
    struct kx_slice scopes, prefix, name, scope;
    kx_buffer_init(&text, cli->memory);
    if (cli_json_member(grant, "scopes", &scopes) &&
        kx_json_iterate(scopes, &iter))
        while (kx_json_next(&iter, &name, &scope)) {
            kx_add_text(&text, text.size > 0 ? "," : "");
            kx_add_slice(&text, kx_slice(scope.data + 1, scope.size - 2));
        }
    kx_add_byte(&text, ':');
    if (!cli_json_member(grant, "prefix", &prefix) ||
        !cli_key_path(cli, prefix, &text))
        kx_add_byte(&text, '?');
    putchar(' ');
    cli_put(stdout, kx_buffer_slice(&text));
    kx_buffer_free(&text);
}

static void show_row(const struct cli *cli, struct kx_slice token,
                     const char *id)
{
    char end[24] = "never";
    struct tm parts;
    struct kx_json_iter iter;
    struct kx_slice grants, index, grant;
    time_t seconds = (time_t)(cli_number(token, "expiresAt") / 1000);
    const char *name = cli_text(cli, token, "name");
    if (seconds != 0)
        strftime(end, sizeof end, "%Y-%m-%dT%H:%M:%SZ",
                 gmtime_r(&seconds, &parts));
    printf("%s%s%s %-20s %-20s", cli_tint(cli), id, cli_plain(cli),
           name != NULL ? name : "?", end);
    if (cli_json_member(token, "grants", &grants) &&
        kx_json_iterate(grants, &iter))
        while (kx_json_next(&iter, &index, &grant))
            show_grant(cli, grant);
    putchar('\n');
}

static void show_heading(const struct cli *cli)
{
    if (cli->form == CLI_DEFAULT || cli->form == CLI_TABLE)
        printf("%s%-16s %-20s %-20s %s%s\n", cli_bold(cli), "ID", "NAME",
               "EXPIRES", "GRANTS", cli_plain(cli));
}

static void show_token(const struct cli *cli, void *target,
                       struct kx_slice token)
{
    bool *headed = target;
    const char *id = cli_text(cli, token, "id");
    if (!*headed)
        show_heading(cli);
    *headed = true;
    if (cli->form == CLI_JSON)
        cli_show_bytes(cli, token);
    else if (cli->form == CLI_RAW || id == NULL)
        puts(id != NULL ? id : "?");
    else
        show_row(cli, token, id);
}

int cli_token_ls(struct cli *cli)
{
    bool headed = false;
    int status =
        cli_pages(cli, kx_text("/tokens"), "tokens", show_token, &headed);
    if (status == CLI_OK && !headed)
        show_heading(cli);
    return status;
}

static int call_token(struct cli *cli, const char *method, const char *id)
{
    struct kx_buffer path;
    struct cli_reply reply;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/tokens/");
    cli_add_key(&path, id);
    struct cli_call call = {.method = method, .path = cli_whole(&path)};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK && reply.body.size > 0)
        cli_show_document(cli, kx_buffer_slice(&reply.body));
    return status;
}

int cli_token_show(struct cli *cli)
{
    return call_token(cli, "GET", cli->count > 0 ? cli->words[0] : "self");
}

int cli_token_revoke(struct cli *cli)
{
    return call_token(cli, "DELETE", cli->words[0]);
}

/* For --token-file; sends no request. */
int cli_token_generate(struct cli *cli)
{
    struct credential credential;
    char text[CREDENTIAL_SIZE + 1];
    (void)cli;
    if (!credential_make(&credential, text))
        return cli_fail("no random numbers are available");
    puts(text);
    return CLI_OK;
}
