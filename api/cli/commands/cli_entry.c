/* kindex get, set, patch, touch, del and sum: single entries, by key. */
#include <stdio.h>
#include <string.h>
#include <talloc.h>

#include "cli/cli_lists.h"
#include "cli/cli_http.h"
#include "cli/cli_files.h"
#include "cli/cli_json.h"
#include "cli/cli_show.h"

/* ---- get ---------------------------------------------------------------- */

/* True for the two JSON types that the server sends. Only these: bytes are sent
 * with the type they were stored with, which may also look like JSON. */
static bool is_json(const char *type)
{
    size_t size = strcspn(type, "; ");
    struct kx_slice name = kx_slice(type, size);
    return kx_equal(name, kx_text("application/json")) ||
           kx_equal(name, kx_text("application/vnd.kindex.typed+json"));
}

/* Prints only the value: the bytes of the reply. */
static int get_value(struct cli *cli, const char *key)
{
    struct kx_buffer path;
    struct cli_reply reply;
    cli_entry_path(cli, key, &path);
    cli_add_parameter(&path, "fields", cli->fields);
    struct cli_call call = {
        .method = "GET", .path = cli_whole(&path), .any = true};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK && cli_presence_of(&reply) == PRESENCE_BELOW)
        cli_note("  kindex ls %s lists the entries under it.", key);
    if (status != CLI_OK)
        return status;
    if (is_json(reply.type))
        cli_show_bytes(cli, kx_buffer_slice(&reply.body));
    else
        cli_show_value(cli, kx_buffer_slice(&reply.body));
    return CLI_OK;
}

/* Appends the key as a JSON array. */
static bool add_array(struct cli *cli, const char *key, struct kx_buffer *out)
{
    struct kx_buffer encoded;
    kx_buffer_init(&encoded, cli->memory);
    if (!cli_read_key(cli, key, &encoded))
        return false;
    kx_key_to_json(kx_buffer_slice(&encoded), out);
    return true;
}

/* Prints the entries. absent[0..*count_out-1] are the numbers of those that do
 * not exist. */
static int show_entries(struct cli *cli, struct kx_slice document, int *absent,
                        int *count_out)
{
    struct kx_json_iter iter;
    struct kx_slice entries, name, entry, stamp;
    int i = 0;
    *count_out = 0;
    if (!cli_json_member(document, "entries", &entries) ||
        !kx_json_iterate(entries, &iter))
        return cli_fail("the server's answer has no entries");
    cli_show_heading(cli);
    while (i < cli->count && kx_json_next(&iter, &name, &entry)) {
        cli_show_entry(cli, entry);
        if (cli_json_member(entry, "versionstamp", &stamp) &&
            kx_json_type(stamp) == KX_JSON_NULL) {
            absent[*count_out] = i;
            *count_out += 1;
        }
        i++;
    }
    return CLI_OK;
}

/* Prints a hint for each absent key that has entries under it: the user may
 * have meant a prefix. */
static int tell_absent(struct cli *cli, const int *absent, int count)
{
    enum cli_presence presence;
    int status = CLI_OK;
    for (int i = 0; status == CLI_OK && i < count; i++) {
        const char *key = cli->words[absent[i]];
        status = cli_presence_ask(cli, key, &presence);
        if (status == CLI_OK && presence == PRESENCE_BELOW)
            cli_presence_tell(key, "ls", "lists them");
    }
    return status == CLI_OK && count > 0 ? CLI_ABSENT : status;
}

/* Prints whole entries, all from one snapshot. */
static int get_entries(struct cli *cli)
{
    struct kx_buffer body;
    struct cli_reply reply;
    int count;
    kx_buffer_init(&body, cli->memory);
    kx_add_text(&body, "{\"keys\":[");
    for (int i = 0; i < cli->count; i++) {
        if (i > 0)
            kx_add_byte(&body, ',');
        if (!add_array(cli, cli->words[i], &body))
            return CLI_MISUSE;
    }
    kx_add_text(&body, "]}");
    struct cli_call call = {.method = "POST",
                            .path = kx_text("/get"),
                            .body = kx_buffer_slice(&body)};
    int status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    int *absent = talloc_array(cli->memory, int, (size_t)cli->count);
    if (absent == NULL)
        return cli_fail("memory ran out");
    status = show_entries(cli, kx_buffer_slice(&reply.body), absent, &count);
    return status == CLI_OK ? tell_absent(cli, absent, count) : status;
}

int cli_get(struct cli *cli)
{
    bool bare = cli->form == CLI_DEFAULT || cli->form == CLI_RAW;
    if (cli->count == 1 && bare)
        return get_value(cli, cli->words[0]);
    if (cli->fields != NULL)
        return cli_misuse(cli, "--fields needs a single key and -o raw");
    if (cli->form == CLI_DEFAULT)
        cli->form = CLI_TABLE;
    return get_entries(cli);
}

/* ---- set ---------------------------------------------------------------- */

static const char *media_type(const struct cli *cli)
{
    static const char *const TYPES[][2] = {
        {"json", "application/json"},
        {"text", "application/json"},
        {"bytes", "application/octet-stream"},
        {"typed", "application/vnd.kindex.typed+json"}};
    if (cli->merge)
        return "application/merge-patch+json";
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (strcmp(cli->type, TYPES[i][0]) == 0)
            return TYPES[i][1];
    return cli->type;
}

/* Reads the value in the form in which it is sent: from word number `at` if
 * that word exists and is not "-", otherwise from --file or standard input. */
static bool read_value(struct cli *cli, int at, struct kx_buffer *body)
{
    struct kx_buffer text;
    kx_buffer_init(&text, cli->memory);
    kx_buffer_init(body, cli->memory);
    if (at < cli->count && strcmp(cli->words[at], "-") != 0)
        kx_add_text(&text, cli->words[at]);
    else if (!cli_input(cli->file, &text))
        return false;
    if (strcmp(cli->type, "text") == 0)
        kx_json_escape(kx_buffer_slice(&text), body);
    else
        kx_add_slice(body, kx_buffer_slice(&text));
    kx_buffer_reserve(body, 1); /* so that an empty value is sent as a body */
    return !body->failed && !text.failed;
}

/* The header of the requested condition; NULL: none. Without memory it is an
 * invalid header, so that the request fails rather than goes out
 * unconditionally. */
static const char *condition(const struct cli *cli)
{
    if (cli->absent)
        return "If-None-Match: *";
    if (cli->if_match == NULL)
        return NULL;
    const char *header =
        talloc_asprintf(cli->memory, "If-Match: \"%s\"", cli->if_match);
    return header != NULL ? header : "\n";
}

/* Prints the versionstamp; as JSON, the whole answer. */
static void show_stamp(const struct cli *cli, const struct cli_reply *reply)
{
    struct kx_slice document = kx_buffer_slice(&reply->body);
    const char *stamp = cli_text(cli, document, "versionstamp");
    if (cli->form == CLI_JSON || stamp == NULL)
        cli_show_bytes(cli, document);
    else
        puts(stamp);
}

/* If a bare word was refused as JSON, suggests --type text. */
static void propose_text(const struct cli *cli, const struct cli_reply *reply)
{
    if (reply->status != 400 || !cli_is_json(reply) || cli->merge ||
        strcmp(cli->type, "json") != 0)
        return;
    const char *code = cli_text(cli, kx_buffer_slice(&reply->body), "code");
    if (code != NULL && strcmp(code, "bad-json") == 0)
        fputs("  With --type text the value is stored as a JSON string.\n",
              stderr);
}

/* Sends the value to the key, under the conditions. */
static int write_value(struct cli *cli, const char *method, const char *type,
                       struct cli_reply *reply)
{
    struct kx_buffer path, body;
    struct cli_call call = {.method = method, .type = type};
    if (cli->absent && cli->if_match != NULL)
        return cli_misuse(cli, "--if-absent and --if-match exclude each other");
    if (cli->count == 2 && cli->file != NULL)
        return cli_misuse(cli, "a value and --file exclude each other");
    if (!read_value(cli, 1, &body))
        return CLI_ERROR;
    cli_entry_path(cli, cli->words[0], &path);
    cli_add_parameter(&path, "ttl", cli->ttl);
    call.path = cli_whole(&path);
    call.body = kx_buffer_slice(&body);
    call.header = condition(cli);
    int status = cli_ask(cli, &call, reply);
    if (status == CLI_OK)
        show_stamp(cli, reply);
    return status;
}

int cli_set(struct cli *cli)
{
    struct cli_reply reply = {.status = 0};
    int status =
        write_value(cli, cli->merge ? "PATCH" : "PUT", media_type(cli), &reply);
    if (status != CLI_OK)
        propose_text(cli, &reply);
    return status;
}

/* ---- patch -------------------------------------------------------------- */

static void show_count(const struct cli *cli, const char *done, uint64_t count)
{
    unsigned long long number = count;
    if (cli->form == CLI_JSON)
        printf("{\"%s\":%llu}\n", done, number);
    else if (cli->form == CLI_RAW)
        printf("%llu\n", number);
    else
        printf(cli->dry_run ? "%llu would be %s\n" : "%llu %s\n", number, done);
}

/* Sends the call for all entries of the range that the options give. */
static int change_range(struct cli *cli, struct cli_call call, const char *done)
{
    uint64_t count;
    struct kx_buffer path;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/list");
    cli_add_range(cli, &path);
    cli_add_parameter(&path, "ttl", cli->ttl);
    cli_add_parameter(&path, "dry", cli->dry_run ? "1" : NULL);
    call.path = cli_whole(&path);
    int status = cli_change_range(cli, call, done, &count);
    if (status == CLI_OK)
        show_count(cli, done, count);
    else if (count > 0)
        fprintf(stderr, "  %llu were %s before.\n", (unsigned long long)count,
                done);
    return status;
}

/* Complains of a command without a range that has no key, or has --dry-run. */
static int range_missing(struct cli *cli)
{
    return cli_misuse(cli, cli->count == 0
                               ? "a key, --prefix or --index is missing"
                               : "--dry-run needs --prefix or --index");
}

static int patch_range(struct cli *cli, const char *type)
{
    struct kx_buffer body;
    struct cli_call call = {.method = "PATCH", .type = type};
    if (cli->count > 1 || cli->absent || cli->if_match != NULL)
        return cli_misuse(cli, "--prefix, --start, --end and --index exclude a "
                               "key, --if-absent and --if-match");
    if (cli->count == 1 && cli->file != NULL)
        return cli_misuse(cli, "a patch and --file exclude each other");
    if (!read_value(cli, 0, &body))
        return CLI_ERROR;
    call.body = kx_buffer_slice(&body);
    return change_range(cli, call, "patched");
}

int cli_patch(struct cli *cli)
{
    struct cli_reply reply;
    const char *type = cli->ops ? "application/json-patch+json"
                                : "application/merge-patch+json";
    cli->type = "json";
    if (cli_names_range(cli))
        return patch_range(cli, type);
    if (cli->count == 0 || cli->dry_run)
        return range_missing(cli);
    return write_value(cli, "PATCH", type, &reply);
}

/* ---- touch -------------------------------------------------------------- */

int cli_touch(struct cli *cli)
{
    struct kx_buffer path;
    struct cli_reply reply;
    if (cli->ttl == NULL)
        return cli_misuse(cli, "--ttl is missing: a time, or none");
    cli_entry_path(cli, cli->words[0], &path);
    cli_add_parameter(&path, "ttl", cli->ttl);
    struct cli_call call = {
        .method = "PATCH", .path = cli_whole(&path), .header = condition(cli)};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        show_stamp(cli, &reply);
    return status;
}

/* ---- del ---------------------------------------------------------------- */

static int del_key(struct cli *cli, const char *key)
{
    struct kx_buffer path;
    struct cli_reply reply;
    cli_entry_path(cli, key, &path);
    struct cli_call call = {
        .method = "DELETE", .path = cli_whole(&path), .header = condition(cli)};
    return cli_ask(cli, &call, &reply);
}

/* An entry that the token must not read counts as present. */
static int del_keys(struct cli *cli)
{
    enum cli_presence presence;
    uint64_t deleted = 0;
    int status = CLI_OK;
    for (int i = 0; status == CLI_OK && i < cli->count; i++) {
        const char *key = cli->words[i];
        status = cli_presence_ask(cli, key, &presence);
        if (status == CLI_OK)
            status = del_key(cli, key);
        if (status == CLI_OK && presence == PRESENCE_BELOW)
            cli_presence_tell(key, "del --prefix", "deletes them");
        if (status == CLI_OK && presence <= PRESENCE_ENTRY)
            deleted++;
    }
    if (status == CLI_OK || deleted > 0)
        show_count(cli, "deleted", deleted);
    return status;
}

int cli_del(struct cli *cli)
{
    struct cli_call call = {.method = "DELETE"};
    bool range = cli_names_range(cli);
    if (range && (cli->count > 0 || cli->if_match != NULL))
        return cli_misuse(cli, "--prefix, --start, --end and --index exclude "
                               "keys and --if-match");
    if (!range && (cli->count == 0 || cli->dry_run))
        return range_missing(cli);
    return range ? change_range(cli, call, "deleted") : del_keys(cli);
}

/* ---- sum: adds to a number by one mutation and prints the result -------- */

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
