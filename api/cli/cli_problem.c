/* Requests that must succeed: prints other replies and chooses their exit
 * statuses. */
#include "cli/cli_problem.h"

#include <stdio.h>
#include <string.h>
#include <talloc.h>

#include "cli/cli_json.h"
#include "cli/cli_terminal.h"

enum { SHOWN_BYTES = 200 /* of a reply that is not a problem document */ };

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

/* Prints the members that say which entry or place is concerned, or that a hint
 * mentions. */
static void print_members(struct kx_slice document)
{
    static const char *const NAMES[] = {
        "failedChecks", "existingKey", "pointer", "present", "didYouMean",
        "allowed",      "supported",   "node",    "mutation"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        struct kx_slice value;
        if (!cli_json_member(document, NAMES[i], &value))
            continue;
        fprintf(stderr, "  %s: ", NAMES[i]);
        cli_put(stderr, value);
        fputc('\n', stderr);
    }
}

static bool declares_by_options(const struct cli *cli)
{
    return strcmp(cli->command->name, "index add") == 0 && cli->file == NULL;
}

static bool adds_number(const struct cli *cli)
{
    return strcmp(cli->command->name, "sum") == 0;
}

/* The hint for problems that only a proxy can have caused. */
#define BETWEEN "Check --url, and what is between this program and the server."

/* Hints in the words of the command line. A hint here replaces the server's
 * hint, which names addresses and headers. The first row that fits the command
 * is used. */
static const struct hint_row {
    const char *code;
    const char *hint;
    bool (*fits)(const struct cli *cli); /* NULL: any command */
} HINTS[] = {
    /* clang-format off */
        {"bad-request", "The detail says what is wrong; kindex help describes every command.", NULL},
        {"bad-key", "Write one segment for each part: text is a string, =42 a number, =42n a bigint, =true a boolean, =b64:AQID bytes. In a document a key is an array of its parts.", NULL},
        {"bad-value", "--type typed takes {\"type\":\"KvU64\",\"value\":\"1\"} and {\"type\":\"Uint8Array\",\"value\":\"<base64url>\"}; otherwise a value is plain JSON.", NULL},
        {"bad-index-definition", "Smallest example: kindex index add users_by_email users email", NULL},
        {"cursor-invalid", "Run the command again from its start.", NULL},
        {"cursor-mismatch", "Run the command again from its start.", NULL},
        {"unauthorized", "--token or KINDEX_TOKEN takes a token of this server; kindex token create creates one.", NULL},
        {"origin-not-allowed", BETWEEN, NULL},
        {"not-found", "Check --url: the server has no such part, or another version.", NULL},
        {"index-not-found", "kindex index ls lists the declared indexes.", NULL},
        {"no-migration", "kindex index migrate starts a migration.", NULL},
        {"no-verification", "kindex index verify starts a verification.", NULL},
        {"token-not-found", "kindex token ls lists the tokens and their ids.", NULL},
        {"method-not-allowed", "Check --url: the server has no such part, or another version.", NULL},
        {"not-acceptable", BETWEEN, NULL},
        {"index-not-ready", "kindex index show shows its progress; kindex index conflicts lists the entries that keep it conflicted.", NULL},
        {"index-exists", "kindex index apply changes any part of it while it is in use, kindex index migrate its store and unique.", NULL},
        {"index-name-used", "If an application maintains them as an index, --adopt takes them over (--dry-run shows what that would change). Otherwise use another name, or delete them first.", declares_by_options},
        {"index-name-used", "If an application maintains them as an index, \"adopt\": true in the declaration takes them over. Otherwise use another name, or delete them first.", NULL},
        {"index-not-unique", "kindex ls --index NAME VALUE lists the entries with this value.", NULL},
        {"index-migrating", "Wait until it is ready (kindex index watch), or undo the migration (kindex index migrate --undo).", NULL},
        {"too-many-indexes", "kindex index rm drops an index that is not used.", NULL},
        {"too-many-tokens", "kindex token revoke revokes a token that is no longer used.", NULL},
        {"out-of-bounds", "`present` is the value that the entry has, null without an entry; --out clamp stores the bound, --out skip leaves the entry as it is.", adds_number},
        {"history-gone", "Begin with an empty copy: watch the index without --since, or list it with kindex ls --index NAME.", NULL},
        {"precondition-failed", "Read the entry again and decide from its new state. --if-match takes the versionstamp that kindex get KEY -o json shows; --if-absent only creates.", NULL},
        {"uri-too-long", "kindex get KEY -o json takes keys of any length.", NULL},
        {"unsupported-media-type", "--type takes json, text, bytes, typed, or a media type.", NULL},
        {"not-indexable", "Change the value at `pointer` to one that the index accepts; kindex index show shows its declaration.", NULL},
        {"idempotency-key-reused", "Begin the import again.", NULL},
        {"idempotency-quota", "Wait until results expire, or start the server with a higher --idempotency-quota.", NULL},
        {"rate-limited", "Wait a minute, or start the server with a higher --token-rate.", NULL},
        {"headers-too-large", "Use a shorter --token.", NULL},
        {"transfer-encoding-unsupported", BETWEEN, NULL},
        {"not-caught-up", "The database does not have the commit yet; run the command again.", NULL},
        {"commit-unknown", "The command may have been carried out: read the entries before you run it again.", NULL},
        {"http-version-unsupported", BETWEEN, NULL},
    /* clang-format on */
};

static const char *hint_of(const struct cli *cli, const struct cli *memory,
                           struct kx_slice document)
{
    const char *code = cli_text(memory, document, "code");
    for (size_t i = 0; code != NULL && i < sizeof HINTS / sizeof *HINTS; i++)
        if (strcmp(HINTS[i].code, code) == 0 &&
            (HINTS[i].fits == NULL || HINTS[i].fits(cli)))
            return HINTS[i].hint;
    return cli_text(memory, document, "hint");
}

static void print_document(const struct cli *cli, struct kx_slice document)
{
    struct cli memory = {.memory = talloc_named_const(NULL, 0, "problem")};
    const char *title = cli_text(&memory, document, "title");
    const char *detail = cli_text(&memory, document, "detail");
    const char *hint = hint_of(cli, &memory, document);
    cli_fail("%s: %s", title != NULL ? title : "refused",
             detail != NULL ? detail : "");
    if (hint != NULL)
        cli_note("  %s", hint);
    print_members(document);
    talloc_free(memory.memory);
}

/* True for the statuses that Kindex sends only with a problem document. Other
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
    print_document(cli, document);
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
