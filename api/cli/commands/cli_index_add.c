/* kindex index add, migrate and apply: declarations from the command line or a
 * file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_files.h"
#include "cli/cli_json.h"
#include "cli/cli_show.h"
#include "cli/cli_terminal.h"
#include "cli/commands/cli_index.h"
#include "rest/where_text.h"

/* "email" is short for the pointer "/email". */
static void add_pointer(struct kx_buffer *out, struct kx_slice name)
{
    size_t from = out->size;
    kx_json_escape(name, out);
    if (name.size > 0 && name.data[0] == '/')
        return;
    kx_add_byte(out, 0);
    if (out->failed)
        return;
    memmove(out->data + from + 2, out->data + from + 1, out->size - from - 2);
    out->data[from + 1] = '/';
}

/* The member of a declaration for --store: a name, or a list of members. */
static void add_store(const char *text, struct kx_buffer *out)
{
    if (strcmp(text, "pointer") == 0 || strcmp(text, "value") == 0) {
        kx_json_escape(kx_text(text), out);
        return;
    }
    kx_add_text(out, "{\"fields\":[");
    for (bool first = true; text != NULL; first = false) {
        const char *comma = strchr(text, ',');
        size_t size = comma != NULL ? (size_t)(comma - text) : strlen(text);
        if (!first)
            kx_add_byte(out, ',');
        add_pointer(out, kx_slice(text, size));
        text = comma != NULL ? comma + 1 : NULL;
    }
    kx_add_text(out, "]}");
}

/* True if the options declare an index of totals. */
static bool has_totals(const struct cli *cli)
{
    return cli->counts || cli->sums != NULL;
}

/* Appends a sum: a member, and after a colon its number of decimals. */
static void add_sum(struct kx_slice text, struct kx_buffer *out)
{
    size_t size = text.size;
    while (size > 0 && text.data[size - 1] >= '0' && text.data[size - 1] <= '9')
        size--;
    bool scaled = size > 0 && size < text.size && text.data[size - 1] == ':';
    kx_add_text(out, "{\"path\":");
    add_pointer(out, kx_slice(text.data, scaled ? size - 1 : text.size));
    if (scaled) {
        kx_add_text(out, ",\"scale\":");
        kx_add(out, text.data + size, text.size - size);
    }
    kx_add_byte(out, '}');
}

static void add_totals(const struct cli *cli, struct kx_buffer *out)
{
    const char *text = cli->sums;
    kx_add_text(out, ",\"store\":{\"aggregate\":{\"count\":true");
    if (text != NULL)
        kx_add_text(out, ",\"sum\":[");
    for (bool first = true; text != NULL; first = false) {
        const char *comma = strchr(text, ',');
        size_t size = comma != NULL ? (size_t)(comma - text) : strlen(text);
        kx_add(out, ",", !first);
        add_sum(kx_slice(text, size), out);
        text = comma != NULL ? comma + 1 : NULL;
    }
    kx_add_text(out, cli->sums != NULL ? "]}}" : "}}");
}

/* Appends a member, unless text is NULL. */
static void add_string(struct kx_buffer *out, const char *name,
                       const char *text)
{
    if (text == NULL)
        return;
    kx_add_text(out, name);
    kx_json_escape(kx_text(text), out);
}

/* A field as it was written: its name, and after a colon its order. */
struct field_word {
    struct kx_slice name;
    const char *order; /* NULL: not given */
};

static struct field_word read_field(const char *word)
{
    struct field_word field = {.name = kx_text(word)};
    size_t size = field.name.size;
    if (size > 5 && strcmp(word + size - 5, ":desc") == 0)
        field = (struct field_word){kx_slice(word, size - 5), "desc"};
    else if (size > 4 && strcmp(word + size - 4, ":asc") == 0)
        field = (struct field_word){kx_slice(word, size - 4), "asc"};
    return field;
}

/* True if both name the same member, with or without the leading slash. */
static bool same_member(const char *member, struct kx_slice name)
{
    size_t skip = name.size > 0 && name.data[0] == '/';
    return kx_equal(kx_text(member + (*member == '/')),
                    kx_slice(name.data + skip, name.size - skip));
}

/* Appends a field: a path, or key:1 for the first part after the prefix. */
static void add_field(const struct cli *cli, const char *word,
                      struct kx_buffer *out)
{
    struct field_word field = read_field(word);
    if (strncmp(word, "key:", 4) == 0) {
        kx_add_text(out, "{\"key\":");
        kx_add(out, field.name.data + 4, field.name.size - 4);
    } else {
        kx_add_text(out, "{\"path\":");
        add_pointer(out, field.name);
        if (cli->each != NULL && same_member(cli->each, field.name))
            kx_add_text(out, ",\"each\":true");
    }
    add_string(out, ",\"fold\":", cli->fold);
    add_string(out, ",\"order\":", field.order);
    kx_add_byte(out, '}');
}

/* Appends the fields from this word on, and the last field of an index of
 * changes. */
static void add_fields(const struct cli *cli, int first, struct kx_buffer *out)
{
    kx_add_text(out, ",\"fields\":[");
    for (int i = first; i < cli->count; i++) {
        kx_add(out, ",", i > first);
        add_field(cli, cli->words[i], out);
    }
    if (cli->changes) {
        kx_add(out, ",", cli->count > first);
        kx_add_text(out, "{\"versionstamp\":true}");
    }
    kx_add_byte(out, ']');
}

static bool add_prefix(const struct cli *cli, struct kx_buffer *out)
{
    struct kx_buffer key;
    kx_buffer_init(&key, cli->memory);
    if (!cli_read_prefix(cli, cli->words[1], &key))
        return false;
    kx_key_to_json(kx_buffer_slice(&key), out);
    return true;
}

static void add_member(struct kx_buffer *out, const char *name,
                       const char *json)
{
    if (json == NULL)
        return;
    kx_add_text(out, name);
    kx_add_text(out, json);
}

/* Appends --where as JSON; null removes a condition. Returns false if the text
 * is neither null nor a condition. */
static bool add_where(const struct cli *cli, struct kx_buffer *out)
{
    bool removes = strcmp(cli->where, "null") == 0;
    if (removes)
        kx_add_text(out, cli->where);
    return removes || where_text_read(kx_text(cli->where), out);
}

/* Appends the members for which options were given. The server fills in its
 * defaults for the others. */
static void add_rest(const struct cli *cli, struct kx_buffer *out)
{
    char depth[32];
    snprintf(depth, sizeof depth, "%llu", (unsigned long long)cli->depth);
    add_member(out, ",\"depth\":", cli->depth > 0 ? depth : NULL);
    add_member(out, ",\"unique\":", cli->unique ? "true" : NULL);
    add_member(out, ",\"adopt\":", cli->adopt ? "true" : NULL);
    if (cli->where != NULL) {
        kx_add_text(out, ",\"where\":");
        add_where(cli, out);
    }
    if (cli->store != NULL) {
        kx_add_text(out, ",\"store\":");
        add_store(cli->store, out);
    }
    if (has_totals(cli))
        add_totals(cli, out);
    add_string(out, ",\"missing\":", cli->missing);
    add_string(out, ",\"tombstones\":", cli->tombstones);
}

static bool make_declaration(const struct cli *cli, struct kx_buffer *out)
{
    kx_add_text(out, "{\"name\":");
    kx_json_escape(kx_text(cli->words[0]), out);
    kx_add_text(out, ",\"prefix\":");
    if (!add_prefix(cli, out))
        return false;
    add_fields(cli, 2, out);
    add_rest(cli, out);
    kx_add_byte(out, '}');
    return !out->failed;
}

static bool is_json(const struct cli *cli, const char *what,
                    struct kx_slice text)
{
    struct kx_fault fault;
    if (kx_json_check(text, &fault) == KX_OK)
        return true;
    cli_misuse(cli, "%s: \"%.*s\" is not JSON: %s", what, (int)text.size,
               (const char *)text.data, fault.detail);
    return false;
}

static bool is_condition(const struct cli *cli)
{
    struct kx_buffer json;
    kx_buffer_init(&json, cli->memory);
    if (add_where(cli, &json))
        return is_json(cli, "--where", kx_buffer_slice(&json));
    cli_misuse(cli,
               "--where: \"%s\" is neither a condition such as "
               "status=open nor JSON",
               cli->where);
    return false;
}

static bool each_is_field(const struct cli *cli, int first)
{
    for (int i = first; i < cli->count; i++)
        if (same_member(cli->each, read_field(cli->words[i]).name))
            return true;
    cli_misuse(cli, "--each: %s is not one of the fields", cli->each);
    return false;
}

static bool is_number(const struct cli *cli, const char *word)
{
    struct kx_slice name = read_field(word).name;
    return strncmp(word, "key:", 4) != 0 ||
           is_json(cli, word, kx_slice(name.data + 4, name.size - 4));
}

/* Checks the texts that are used in the declaration as JSON, and that --each
 * names a field. Fields begin with word number `first`. */
static bool check_words(const struct cli *cli, int first)
{
    if (cli->where != NULL && !is_condition(cli))
        return false;
    for (int i = first; i < cli->count; i++)
        if (!is_number(cli, cli->words[i]))
            return false;
    if (cli->store != NULL && has_totals(cli)) {
        cli_misuse(cli, "--store excludes --count and --sum: an index of "
                        "totals stores nothing else");
        return false;
    }
    return cli->each == NULL || each_is_field(cli, first);
}

/* True if the command line has anything that belongs to a declaration, which
 * cannot be combined with a file. */
static bool declares(const struct cli *cli)
{
    return cli->count > 0 || cli->unique || cli->adopt || cli->depth > 0 ||
           cli->store != NULL || cli->missing != NULL || cli->where != NULL ||
           cli->fold != NULL || cli->each != NULL || has_totals(cli) ||
           cli->changes || cli->tombstones != NULL;
}

static int read_file(struct cli *cli, struct kx_buffer *body)
{
    if (declares(cli))
        return cli_misuse(
            cli, "--file excludes arguments and options of the declaration");
    return cli_input(cli->file, body) ? CLI_OK : CLI_ERROR;
}

/* Makes the declaration in body. Returns the exit status. */
static int read_declaration(struct cli *cli, struct kx_buffer *body)
{
    kx_buffer_init(body, cli->memory);
    if (cli->file != NULL)
        return read_file(cli, body);
    if (cli->count < (has_totals(cli) || cli->changes ? 2 : 3))
        return cli_misuse(cli,
                          "name, prefix and a field, or --file, are missing");
    return check_words(cli, 2) && make_declaration(cli, body) ? CLI_OK
                                                              : CLI_MISUSE;
}

/* If the declaration is read from a file, the name of the index is taken from
 * the server's reply. */
static int follow(struct cli *cli, const struct cli_reply *reply)
{
    const char *name = cli_text(cli, kx_buffer_slice(&reply->body), "name");
    return name != NULL ? cli_index_follow(cli, name)
                        : cli_fail("the server's answer has no name");
}

int cli_index_add(struct cli *cli)
{
    struct kx_buffer body;
    struct cli_reply reply;
    struct kx_buffer path;
    if (cli->paused && cli->wait)
        return cli_misuse(cli, "--paused and --wait exclude each other");
    int status = read_declaration(cli, &body);
    if (status != CLI_OK)
        return status;
    kx_buffer_init(&path, cli->memory);
    kx_add_text(&path, "/indexes");
    cli_add_parameter(&path, "dry", cli->dry_run ? "true" : NULL);
    cli_add_parameter(&path, "paused", cli->paused ? "true" : NULL);
    struct cli_call call = {.method = "POST",
                            .path = cli_whole(&path),
                            .body = kx_buffer_slice(&body)};
    status = cli_ask(cli, &call, &reply);
    if (status != CLI_OK)
        return status;
    if (cli->wait && !cli->dry_run)
        return follow(cli, &reply);
    cli_show_document(cli, kx_buffer_slice(&reply.body));
    return CLI_OK;
}

/* The name comes first: it cannot change, and the other members may then begin
 * with a comma. */
static void add_patch(const struct cli *cli, struct kx_buffer *out)
{
    kx_add_text(out, "{\"name\":");
    kx_json_escape(kx_text(cli->words[0]), out);
    if (cli->not_unique)
        kx_add_text(out, ",\"unique\":false");
    if (cli->count > 1 || cli->changes)
        add_fields(cli, 1, out);
    add_rest(cli, out);
    kx_add_byte(out, '}');
}

/* True if the command line has anything that is to change. */
static bool changes(const struct cli *cli)
{
    return cli->count > 1 || cli->unique || cli->not_unique || cli->depth > 0 ||
           cli->store != NULL || cli->missing != NULL || cli->where != NULL ||
           has_totals(cli) || cli->changes || cli->tombstones != NULL;
}

/* Sends the migration and shows its progress until the index is ready or
 * conflicted. */
static int migrate_and_follow(struct cli *cli, struct kx_slice patch)
{
    struct kx_buffer path;
    struct cli_reply reply;
    cli_index_path(cli, "", &path);
    struct cli_call call = {
        .method = "PATCH", .path = cli_whole(&path), .body = patch};
    int status = cli_ask(cli, &call, &reply);
    return status == CLI_OK ? cli_index_follow(cli, cli->words[0]) : status;
}

int cli_index_migrate(struct cli *cli)
{
    struct kx_buffer body;
    kx_buffer_init(&body, cli->memory);
    if (cli->undo && (changes(cli) || cli->wait))
        return cli_misuse(cli, "--undo excludes changes and --wait");
    if (cli->undo)
        return cli_index_call(cli, "DELETE", "/migration", kx_slice(NULL, 0));
    if (!changes(cli))
        return cli_misuse(cli, "a field, an option for what changes, such as "
                               "--store, or --undo is missing");
    if (cli->unique && cli->not_unique)
        return cli_misuse(cli, "--unique and --not-unique exclude each other");
    if (!check_words(cli, 1))
        return CLI_MISUSE;
    add_patch(cli, &body);
    struct kx_slice patch = kx_buffer_slice(&body);
    return cli->wait ? migrate_and_follow(cli, patch)
                     : cli_index_call(cli, "PATCH", "", patch);
}

/* ---- apply: makes the indexes match a file of declarations -------------- */

static bool is_change(const char *change, const char *wanted)
{
    return change != NULL && strcmp(change, wanted) == 0;
}

/* Shows the estimated size, time and conflicts of an index that would be built.
 */
static void show_estimate(struct kx_slice estimate)
{
    struct kx_slice seconds;
    printf(" %10" PRIu64 " entries %12" PRIu64 " bytes",
           cli_number(estimate, "entries"), cli_number(estimate, "bytes"));
    if (cli_json_member(estimate, "seconds", &seconds)) {
        putchar(' ');
        cli_put_column(stdout, seconds, -6);
        fputs(" s", stdout);
    }
    printf(" %" PRIu64 " conflicts", cli_number(estimate, "conflicts"));
}

static void show_line(const struct cli *cli, struct kx_slice planned)
{
    struct kx_slice part;
    struct kx_slice name;
    struct kx_slice warning;
    struct kx_json_iter iter;
    const char *index = cli_text(cli, planned, "name");
    const char *change = cli_text(cli, planned, "change");
    printf("%s%-28s%s %-9s", cli_tint(cli), index != NULL ? index : "?",
           cli_plain(cli), change != NULL ? change : "?");
    if (cli_json_member(planned, "estimate", &part)) {
        show_estimate(part);
    } else if (cli_json_member(planned, "entries", &part)) {
        putchar(' ');
        cli_put_column(stdout, part, -10);
        printf(" entries %12" PRIu64 " bytes", cli_number(planned, "bytes"));
    }
    putchar('\n');
    if (!cli_json_member(planned, "warnings", &part) ||
        !kx_json_iterate(part, &iter))
        return;
    while (kx_json_next(&iter, &name, &warning))
        cli_show_bytes(cli, warning);
}

/* Begins to iterate over the array `indexes` of the answer. False after
 * printing an error. */
static bool begin(const struct cli_reply *reply, struct kx_json_iter *iter)
{
    struct kx_slice indexes;
    return cli_json_member(kx_buffer_slice(&reply->body), "indexes",
                           &indexes) &&
           kx_json_iterate(indexes, iter);
}

static int show_all(const struct cli *cli, const struct cli_reply *reply)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice planned;
    if (cli->form == CLI_JSON || cli->form == CLI_RAW) {
        cli_show_document(cli, kx_buffer_slice(&reply->body));
        return CLI_OK;
    }
    if (!begin(reply, &iter))
        return cli_fail("the server's answer has no indexes");
    while (kx_json_next(&iter, &name, &planned))
        show_line(cli, planned);
    return CLI_OK;
}

/* Follows each index until it is ready or conflicted. Returns the first exit
 * status that is not CLI_OK. */
static int follow_all(struct cli *cli, const struct cli_reply *reply)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice planned;
    int status = CLI_OK;
    if (!begin(reply, &iter))
        return CLI_OK;
    fflush(stdout);
    while (kx_json_next(&iter, &name, &planned)) {
        const char *index = cli_text(cli, planned, "name");
        if (index == NULL ||
            is_change(cli_text(cli, planned, "change"), "dropped"))
            continue;
        int followed = cli_index_follow(cli, index);
        status = status == CLI_OK ? followed : status;
    }
    return status;
}

int cli_index_apply(struct cli *cli)
{
    struct kx_buffer body;
    struct kx_buffer path;
    struct cli_reply reply;
    kx_buffer_init(&body, cli->memory);
    kx_buffer_init(&path, cli->memory);
    if (cli->dry_run && cli->wait)
        return cli_misuse(cli, "--plan and --wait exclude each other");
    if (!cli_input(cli->words[0], &body))
        return CLI_ERROR;
    kx_add_text(&path, "/indexes");
    cli_add_parameter(&path, "dry", cli->dry_run ? "true" : NULL);
    cli_add_parameter(&path, "prune", cli->prune ? "true" : NULL);
    struct cli_call call = {.method = "PUT",
                            .path = cli_whole(&path),
                            .body = kx_buffer_slice(&body)};
    int status = cli_ask(cli, &call, &reply);
    if (status == CLI_OK)
        status = show_all(cli, &reply);
    return status == CLI_OK && cli->wait ? follow_all(cli, &reply) : status;
}
