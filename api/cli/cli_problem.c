/* Requests that must succeed. Prints replies that are not a success, and
 * chooses their exit statuses. */
#include "cli/cli_problem.h"

#include <stdio.h>
#include <string.h>
#include <talloc.h>

#include "cli/cli_json.h"
#include "cli/cli_terminal.h"

enum { SHOWN_BYTES = 200 /* of a reply that is no problem document */ };

int cli_exit_of(long status)
{
    static const struct {
        long status;
        enum cli_exit exit;
    } EXITS[] = {{404, CLI_ABSENT},      {410, CLI_ABSENT},
                 {409, CLI_CONFLICT},    {412, CLI_CONFLICT},
                 {428, CLI_CONFLICT},    {429, CLI_UNAVAILABLE},
                 {502, CLI_UNAVAILABLE}, {503, CLI_UNAVAILABLE},
                 {504, CLI_UNAVAILABLE}, {507, CLI_UNAVAILABLE}};
    for (size_t i = 0; i < sizeof EXITS / sizeof *EXITS; i++)
        if (EXITS[i].status == status)
            return EXITS[i].exit;
    return status / 100 == 2 ? CLI_OK : CLI_ERROR;
}

/* Prints the members that name the entry or place concerned, unchanged. */
static void print_members(struct kx_slice document)
{
    static const char *const NAMES[] = {"failedChecks", "existingKey",
                                        "pointer", "didYouMean", "mutation"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        struct kx_slice value;
        if (!cli_json_member(document, NAMES[i], &value))
            continue;
        fprintf(stderr, "  %s: ", NAMES[i]);
        cli_put(stderr, value);
        fputc('\n', stderr);
    }
}

/* A hint in terms of the command line, since those of the service name
 * addresses. */
static const char *hint_of(const struct cli *cli, struct kx_slice document)
{
    static const struct {
        const char *code;
        const char *hint;
    } HINTS[] = {
        {"index-not-found", "kindex index ls lists the declared indexes."},
        {"index-exists",
         "kindex index apply changes any part of it while it is "
         "in use, kindex index migrate its store and unique."},
        {"index-name-used",
         "If an application maintains them as an index, --adopt takes them "
         "over (--dry-run shows what that would change). Otherwise use another "
         "name, or delete them first."},
        {"index-not-ready",
         "kindex index show shows its progress; kindex index conflicts lists "
         "the entries that keep it conflicted."},
        {"index-not-unique",
         "kindex ls --index NAME VALUE lists the entries with this value."},
        {"index-migrating",
         "Wait until it is ready (kindex index watch), or undo the migration "
         "(kindex index migrate --undo)."},
        {"no-migration", "kindex index migrate starts a migration."},
        {"token-not-found", "kindex token ls lists the tokens and their ids."},
    };
    const char *code = cli_text(cli, document, "code");
    for (size_t i = 0; code != NULL && i < sizeof HINTS / sizeof *HINTS; i++)
        if (strcmp(HINTS[i].code, code) == 0)
            return HINTS[i].hint;
    return cli_text(cli, document, "hint");
}

static void print_document(struct kx_slice document)
{
    struct cli memory = {.memory = talloc_named_const(NULL, 0, "problem")};
    const char *title = cli_text(&memory, document, "title");
    const char *detail = cli_text(&memory, document, "detail");
    const char *hint = hint_of(&memory, document);
    cli_fail("%s: %s", title != NULL ? title : "refused",
             detail != NULL ? detail : "");
    if (hint != NULL)
        cli_note("  %s", hint);
    print_members(document);
    talloc_free(memory.memory);
}

/* True for the statuses that Kindex sends with a problem document only. Other
 * statuses may come from a proxy, or from KV Connect, which answers in plain
 * text. */
static bool needs_document(long status)
{
    enum cli_exit exit = cli_exit_of(status);
    return exit == CLI_ABSENT || exit == CLI_CONFLICT || status == 405 ||
           status == 501;
}

static int print_bytes(const struct cli *cli, const struct cli_reply *reply)
{
    struct kx_slice bytes = kx_buffer_slice(&reply->body);
    struct kx_buffer shown;
    kx_buffer_init(&shown, cli->memory);
    cli_escape(kx_slice(bytes.data, kx_utf8_fit(bytes, SHOWN_BYTES)), &shown);
    for (size_t i = 0; i < shown.size; i++)
        shown.data[i] = shown.data[i] < ' ' ? ' ' : shown.data[i];
    kx_add_byte(&shown, '\0');
    const char *text = shown.failed ? "" : (const char *)shown.data;
    if (needs_document(reply->status))
        return cli_fail("%s is not a Kindex server: it answered %ld %s",
                        cli->url, reply->status, text);
    cli_fail("the server answered %ld %s", reply->status, text);
    return cli_exit_of(reply->status);
}

int cli_problem(const struct cli *cli, const struct cli_reply *reply)
{
    struct kx_slice document = kx_buffer_slice(&reply->body);
    struct kx_slice code;
    if (!cli_is_json(reply) || kx_json_type(document) != KX_JSON_OBJECT ||
        !cli_json_member(document, "code", &code))
        return print_bytes(cli, reply);
    print_document(document);
    return cli_exit_of(reply->status);
}

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
